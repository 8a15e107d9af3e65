import type { ToolEvent, TurnEvent } from '@troupe/client';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly latencyMs: number | undefined;
}

/** What is known of one answer so far. */
export interface Answer {
  readonly text: string;
  readonly thinking: string;
  readonly tools: readonly ToolCall[];
  readonly replies: readonly string[];
  /** What happens now, while it happens. */
  readonly phase: string | undefined;
  readonly outcome: string | undefined;
  readonly problem: string | undefined;
  readonly executionId: string | undefined;
  readonly sessionId: string | undefined;
  readonly model: string | undefined;
  readonly cost: number | undefined;
  readonly tokens: number | undefined;
  readonly latencyMs: number | undefined;
  readonly firstTokenMs: number | undefined;
}

export const emptyAnswer: Answer = {
  text: '',
  thinking: '',
  tools: [],
  replies: [],
  phase: 'sent',
  outcome: undefined,
  problem: undefined,
  executionId: undefined,
  sessionId: undefined,
  model: undefined,
  cost: undefined,
  tokens: undefined,
  latencyMs: undefined,
  firstTokenMs: undefined,
};

const phases: Readonly<Record<string, string>> = {
  load: 'reading the conversation',
  intent: 'looking at the question',
  model: 'the model writes',
  tools: 'calling tools',
  finish: 'finishing',
};

/** The answer after one more event. */
export function withEvent(answer: Answer, event: TurnEvent): Answer {
  switch (event.type) {
    case 'metadata':
      return {
        ...answer,
        executionId: event.execution_id,
        sessionId: event.session_id,
      };
    case 'status':
      // Another node begins the turn again: what was written so far is void.
      return event.state === 'restarted'
        ? { ...answer, text: '', thinking: '', phase: 'continues on another node' }
        : { ...answer, phase: event.state };
    case 'phase':
      return { ...answer, phase: phases[event.name] ?? event.name };
    case 'thinking':
      return { ...answer, thinking: answer.thinking + event.content };
    case 'delta':
      return { ...answer, text: answer.text + event.content };
    case 'tool':
      return { ...answer, tools: withCall(answer.tools, event) };
    case 'approval':
      return { ...answer, phase: `waits for a person to decide on ${event.tool}` };
    case 'response':
      return { ...answer, text: event.content, replies: repliesOf(event.blocks) };
    case 'metrics':
      return {
        ...answer,
        model: event.model ?? undefined,
        cost: event.cost ?? undefined,
        tokens: event.usage.total_tokens,
        latencyMs: event.latency_ms ?? undefined,
        firstTokenMs: event.first_token_ms ?? undefined,
      };
    case 'error':
      return { ...answer, problem: event.message };
    case 'done':
      return { ...answer, phase: undefined, outcome: event.outcome };
    default:
      return answer;
  }
}

function withCall(calls: readonly ToolCall[], event: ToolEvent): readonly ToolCall[] {
  const call: ToolCall = {
    id: event.call_id,
    name: event.name,
    state: event.state,
    latencyMs: event.latency_ms ?? undefined,
  };
  const known = calls.some(({ id }) => id === call.id);
  return known ? calls.map((one) => (one.id === call.id ? call : one)) : [...calls, call];
}

function repliesOf(blocks: unknown): readonly string[] {
  if (!Array.isArray(blocks)) return [];
  return (blocks as { type?: string; data?: { labels?: string[] } }[]).flatMap(({ type, data }) =>
    type === 'quick_replies' ? (data?.labels ?? []) : [],
  );
}
