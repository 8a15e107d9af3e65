/**
 * The calls of one round: they run in parallel, each as a step of its own. A failed call does not end the turn.
 */
import type { WorkSpan } from '../../infra/diagnostics/index.js';
import type { ToolCallPart, ToolMessage } from '../../llm/index.js';
import { decisionOn, denial, noteOfChange, TurnParked, undecided } from './approvals.js';
import { TurnLost } from './interruption.js';
import { callSchemaTool } from './schema-tool.js';
import type { Parked, Step } from './step-log.js';
import { callSubAgent, type RunChild, type SubAgentResult } from './sub-agent.js';
import { readCall, type ReadCall } from './tool-call.js';
import { refused, type ToolResult } from './tool-result.js';
import type { Toolset } from './toolset.js';
import { endToolSpan, toolSpan } from './turn-spans.js';
import type { ApprovalDecision, RecordedStep, StepDetail } from './turn.js';
import { mayBegin, type TurnWork } from './turn-work.js';
import { storableText } from '../../kernel/storable-text.js';

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
  const read = calls.slice(0, callsMax).map((part) => readCall(part, toolset));
  const wanted = undecided(work, read, steps.nextNumber, toolset);
  if (wanted.length > 0) {
    interruption.check();
    // No step of the round begins: after the decisions all of them do, and none is repeated.
    throw new TurnParked(wanted, steps.takeWaiting());
  }
  const begun = read.map((given, index) => {
    const decision = decisionOn(work, steps.nextNumber);
    const call = decided(given, decision);
    const { part } = call;
    const step = steps.begin('tool', part.name, { step: 'tool', callId: part.id, arguments: part.arguments });
    return { call, step, index };
  });
  const open = begun.filter(({ call, step }) => !('refusal' in call) && step.ended === undefined);
  if (open.length > 0) await mayBegin(work);
  const results = new Map<number, ToolMessage>();
  const waiting = [...begun];
  const parked: TurnParked[] = [];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        results.set(next.index, await oneCall(work, next.call, next.step, next.index, run));
      } catch (error) {
        // The other calls of the round are made first: their results are recorded with the approvals.
        if (!(error instanceof TurnParked)) throw error;
        parked.push(error);
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(atOnceMax, begun.length) }, worker));
  interruption.check();
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  if (parked.length > 0) {
    throw new TurnParked(
      parked.flatMap(({ approvals }) => approvals),
      steps.takeWaiting(),
    );
  }
  return calls.map((part, index) => results.get(index) ?? message(part, refused('Too many calls at once.')));
}

async function oneCall(
  work: TurnWork,
  call: DecidedCall,
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
  const span = toolSpan(work, part);
  const detail = (more: Partial<ToolDetail> = {}): ToolDetail => ({
    step: 'tool',
    callId: part.id,
    arguments: part.arguments,
    ...more,
    latencyMs: Math.round(parts.time.monotonicMs() - startedAtMs),
  });
  try {
    const { state, text: given, ...used } = await resultOf(work, call, { step, index, span }, run);
    // Errors quote servers and models, and are cut by length.
    const text = storableText(given);
    endToolSpan(span, state);
    totals.add(used);
    const ended = detail({ result: text, isError: state !== 'finished', ...used });
    steps.end(step, state, ended);
    ports.emit({ ...event, state, latency_ms: ended.latencyMs ?? 0 });
    return message(part, { state, text });
  } catch (error) {
    endToolSpan(span, error instanceof TurnParked ? 'waiting' : 'failed');
    if (error instanceof TurnParked) {
      steps.keep(step, { ...detail(), ...parkedDetail(error.steps, error.agentVersion ?? undefined) });
      throw error;
    }
    const state = interruption.by === 'deadline' ? 'timeout' : 'failed';
    const ended = detail();
    steps.end(step, state, ended);
    ports.emit({ ...event, state, latency_ms: ended.latencyMs ?? 0 });
    throw error;
  }
}

async function resultOf(
  work: TurnWork,
  call: DecidedCall,
  { step, index, span }: { readonly step: Step; readonly index: number; readonly span: WorkSpan | undefined },
  run: RunChild,
): Promise<SubAgentResult> {
  if ('refusal' in call) return refused(call.refusal);
  work.interruption.check();
  if (!work.ports.mayAct()) throw new TurnLost();
  const { tool, args } = call;
  const keepParked = ({ steps, version }: Parked): Promise<void> => {
    const { id: callId, arguments: given } = call.part;
    work.steps.keep(step, { step: 'tool', callId, arguments: given, ...parkedDetail(steps, version) });
    return work.steps.flush();
  };
  const place = {
    number: step.number,
    index,
    again: step.again,
    parked: step.parked,
    keepParked,
    traceparent: span?.traceparent,
  };
  const result: SubAgentResult =
    tool.kind === 'agent'
      ? await callSubAgent(work, tool, args, place, run)
      : await callSchemaTool(work, tool, args, place);
  return call.note === undefined ? result : { ...result, text: `${call.note}\n${result.text}` };
}

function parkedDetail(
  parked: readonly RecordedStep[],
  version: number | undefined,
): Pick<ToolDetail, 'parked' | 'parkedVersion'> {
  return { parked, ...(version !== undefined && { parkedVersion: version }) };
}

type DecidedCall = ReadCall & { readonly note?: string };

/** The call as people decided it: denied, or with the arguments that they wrote. */
function decided(call: ReadCall, decision: ApprovalDecision | undefined): DecidedCall {
  if (decision === undefined || 'refusal' in call) return call;
  if (!decision.approved) return { part: call.part, refusal: denial(decision.reason) };
  const { arguments: args } = decision;
  if (args === undefined) return call;
  const part = { ...call.part, arguments: JSON.stringify(args) };
  return { ...call, part, args, note: noteOfChange(args) };
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
