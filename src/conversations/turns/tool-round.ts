/**
 * The calls of one round: they run in parallel, each as a step of its own. A failed call does not end the turn.
 */
import type { ToolCallPart, ToolMessage } from '../../llm/index.js';
import { TurnLost } from './interruption.js';
import { callSchemaTool } from './schema-tool.js';
import type { Step } from './step-log.js';
import { callSubAgent, type RunChild, type SubAgentResult } from './sub-agent.js';
import { readCall, type ReadCall } from './tool-call.js';
import { refused, type ToolResult } from './tool-result.js';
import type { Toolset } from './toolset.js';
import type { StepDetail } from './turn.js';
import { mayBegin, type TurnWork } from './turn-work.js';

type ToolDetail = Extract<StepDetail, { readonly step: 'tool' }>;

const callsMax = 64;
const atOnceMax = 16;

/** Returns the messages that tell the model the results, in the order of its calls. */
export async function toolRound(
  work: TurnWork,
  calls: readonly ToolCallPart[],
  toolset: Toolset,
  run: RunChild,
): Promise<readonly ToolMessage[]> {
  const { ports, steps, interruption } = work;
  ports.emit({ type: 'phase', name: 'tools' });
  const begun = calls.slice(0, callsMax).map((part, index) => {
    const call = readCall(part, toolset);
    const step = steps.begin('tool', part.name, { step: 'tool', callId: part.id, arguments: part.arguments });
    return { call, step, index };
  });
  const open = begun.filter(({ call, step }) => !('refusal' in call) && step.ended === undefined);
  if (open.length > 0) await mayBegin(work);
  const results = new Map<number, ToolMessage>();
  const waiting = [...begun];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      results.set(next.index, await oneCall(work, next.call, next.step, next.index, run));
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(atOnceMax, begun.length) }, worker));
  interruption.check();
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return calls.map((part, index) => results.get(index) ?? message(part, refused('Too many calls at once.')));
}

async function oneCall(
  work: TurnWork,
  call: ReadCall,
  step: Step,
  index: number,
  run: RunChild,
): Promise<ToolMessage> {
  const { ports, steps, totals, parts, interruption } = work;
  const { part } = call;
  const event = { type: 'tool', call_id: part.id, name: part.name } as const;
  ports.emit({ ...event, state: 'started' });
  totals.toolCalls += 1;
  const before = step.ended;
  if (before?.detail?.step === 'tool') {
    const { result = '', latencyMs = 0 } = before.detail;
    const state = before.state === 'started' ? 'failed' : before.state;
    totals.add(before.detail);
    ports.emit({ ...event, state, latency_ms: latencyMs });
    return message(part, { state, text: result });
  }
  const startedAtMs = parts.time.monotonicMs();
  const detail = (more: Partial<ToolDetail> = {}): ToolDetail => ({
    step: 'tool',
    callId: part.id,
    arguments: part.arguments,
    ...more,
    latencyMs: Math.round(parts.time.monotonicMs() - startedAtMs),
  });
  try {
    const { state, text, ...used } = await resultOf(work, call, step, index, run);
    totals.add(used);
    const ended = detail({ result: text, isError: state !== 'finished', ...used });
    steps.end(step, state, ended);
    ports.emit({ ...event, state, latency_ms: ended.latencyMs ?? 0 });
    return message(part, { state, text });
  } catch (error) {
    const state = interruption.by === 'deadline' ? 'timeout' : 'failed';
    const ended = detail();
    steps.end(step, state, ended);
    ports.emit({ ...event, state, latency_ms: ended.latencyMs ?? 0 });
    throw error;
  }
}

async function resultOf(
  work: TurnWork,
  call: ReadCall,
  step: Step,
  index: number,
  run: RunChild,
): Promise<SubAgentResult> {
  if ('refusal' in call) return refused(call.refusal);
  work.interruption.check();
  if (!work.ports.mayAct()) throw new TurnLost();
  const { tool, args } = call;
  const place = { number: step.number, index, again: step.again };
  return tool.kind === 'agent'
    ? callSubAgent(work, tool, args, place, run)
    : callSchemaTool(work, tool, args, place);
}

function message({ id, name }: ToolCallPart, { state, text }: ToolResult): ToolMessage {
  return {
    role: 'tool',
    callId: id,
    name,
    content: [{ type: 'text', text }],
    ...(state !== 'finished' && { isError: true }),
  };
}
