import type { Attempt, Execution, Step, TurnCall } from './turn-data';

/** One bar of the waterfall. */
export interface Span {
  readonly key: string;
  readonly depth: number;
  readonly kind: 'turn' | 'intent' | 'model' | 'tool' | 'attempt' | 'agent';
  readonly title: string;
  readonly state: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly tokens: number | undefined;
  readonly cost: number | undefined;
  readonly step: Step | undefined;
  readonly call: TurnCall | undefined;
  readonly attempt: Attempt | undefined;
}

interface ChildStep {
  readonly kind: string;
  readonly name: string;
  readonly state: string;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly steps?: readonly ChildStep[];
}

const none = { tokens: undefined, cost: undefined, step: undefined, call: undefined, attempt: undefined };
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** The turn, its steps, and below them the attempts of model calls and the steps of sub-agents, in order. */
export function spansOf(execution: Execution, calls: readonly TurnCall[], nowMs: number): readonly Span[] {
  const { steps, started_at, finished_at, status, cost, usage } = execution;
  const first = started_at ?? steps[0]?.started_at;
  if (first == null) return [];
  const fromMs = Math.min(Date.parse(first), ...steps.map(({ started_at: at }) => Date.parse(at)));
  const end = (at: string | null): number => (at === null ? Math.max(nowMs, fromMs) : Date.parse(at));
  const spans: Span[] = [
    {
      ...none,
      key: 'turn',
      depth: 0,
      kind: 'turn',
      title: 'Turn',
      state: status,
      fromMs,
      toMs: end(finished_at),
      tokens: usage?.total_tokens,
      cost,
    },
  ];
  const free = new Set(calls);
  for (const step of steps) {
    const call = step.kind === 'tool' ? undefined : callOf(step, free, end);
    if (call !== undefined) free.delete(call);
    const detail = step.detail ?? {};
    spans.push({
      ...none,
      key: `step-${step.number}`,
      depth: 1,
      kind: step.kind,
      title: step.kind === 'tool' ? step.name : `${titles[step.kind]}${modelOf(step, call)}`,
      state: step.state,
      fromMs: Date.parse(step.started_at),
      toMs: end(step.finished_at),
      tokens: call === undefined ? undefined : call.input_tokens + call.output_tokens,
      cost: numberOf(detail['cost']) ?? call?.cost,
      step,
      call,
    });
    // One attempt that succeeded is the call itself.
    if (call !== undefined && (call.attempts.length > 1 || call.attempts[0]?.outcome !== 'completed'))
      for (const attempt of call.attempts) spans.push(attemptSpan(attempt, call, step));
    spans.push(...childSpans(detail['steps'], `step-${step.number}`, 2, step, end));
  }
  return spans;
}

const titles = { model: 'Model', intent: 'Intent' } as const;

function modelOf({ detail }: Step, call: TurnCall | undefined): string {
  const model = detail?.['model'] ?? call?.model;
  return typeof model === 'string' ? ` · ${model}` : '';
}

/** The call that began within the step. A turn makes one call at a time. */
function callOf(
  step: Step,
  free: ReadonlySet<TurnCall>,
  end: (at: string | null) => number,
): TurnCall | undefined {
  const [from, to] = [Date.parse(step.started_at) - 5, end(step.finished_at) + 5];
  return [...free].find(({ started_at: at }) => from <= Date.parse(at) && Date.parse(at) <= to);
}

function attemptSpan(attempt: Attempt, call: TurnCall, step: Step): Span {
  const fromMs = Date.parse(attempt.started_at);
  return {
    key: `attempt-${call.id}-${attempt.number}`,
    depth: 2,
    kind: 'attempt',
    title: `Attempt ${attempt.number} · ${attempt.model}`,
    state: attempt.outcome ?? 'running',
    fromMs,
    toMs: fromMs + (attempt.latency_ms ?? 0),
    tokens: attempt.input_tokens + attempt.output_tokens,
    cost: attempt.cost,
    step,
    call,
    attempt,
  };
}

function childSpans(
  value: unknown,
  parent: string,
  depth: number,
  step: Step,
  end: (at: string | null) => number,
): readonly Span[] {
  if (!Array.isArray(value) || depth > 6) return [];
  return (value as readonly ChildStep[]).flatMap((child, index) => {
    const key = `${parent}-${index}`;
    const span: Span = {
      ...none,
      key,
      depth,
      kind: 'agent',
      title: `${child.kind} · ${child.name}`,
      state: child.state,
      fromMs: Date.parse(child.startedAt),
      toMs: end(child.finishedAt),
      step,
    };
    return [span, ...childSpans(child.steps, key, depth + 1, step, end)];
  });
}
