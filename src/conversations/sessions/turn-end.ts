/** The end of a turn: for its row, for its readers, and for turns that never ran. */
import { doneEvent, type Outcome, type StreamEvent, type TurnUsage } from '../invocation/index.js';
import type { ErrorCode } from '../../kernel/errors.js';
import { inputTokens, outputTokens, zeroUsage } from '../../llm/index.js';
import { tokensOf, type TurnEnd, type TurnError } from '../turns/index.js';
import type { LiveTurn } from './live-turn.js';
import type { ExecutionRow, ExecutionStatus, LogRow } from './rows.js';
import { compact, type LoggedEvent } from './turn-log.js';

/** A turn may also end before it began. */
export type Ended = Omit<TurnEnd, 'outcome'> & { readonly outcome: Outcome };

export function lastEvents(
  { session_id, id }: ExecutionRow,
  end: Ended,
  muted: boolean,
): readonly StreamEvent[] {
  const events: StreamEvent[] = [];
  if (end.error !== undefined) events.push(errorEvent(end.error));
  const hasAnswer = end.outcome === 'COMPLETED' || end.content !== '';
  // Whoever took the session over gets no text of the agent afterwards.
  if (hasAnswer && !muted && end.outcome !== 'SUSPENDED') {
    const blocks = end.blocks.length === 0 ? {} : { blocks: end.blocks };
    const parsed = end.parsed === undefined ? {} : { parsed: end.parsed };
    events.push({ type: 'response', content: end.content, ...blocks, ...parsed });
  }
  events.push({
    type: 'metrics',
    usage: usageOf(end),
    cost: end.cost,
    model: end.model,
    provider: end.provider,
    latency_ms: Math.round(end.latencyMs),
    first_token_ms: end.firstTokenMs === null ? null : Math.round(end.firstTokenMs),
    tool_calls: end.toolCalls,
  });
  const ids = { session_id: session_id ?? '', execution_id: id };
  events.push(doneEvent(ids, end.outcome, end.timeoutClock));
  return events;
}

export function errorEvent({ code, message, details }: TurnError): StreamEvent {
  return { type: 'error', code, message, ...(details !== undefined && { details }) };
}

const statusOf: Readonly<Record<Outcome, ExecutionStatus>> = {
  COMPLETED: 'completed',
  TIMEOUT: 'timeout',
  CANCELLED: 'cancelled',
  FAILED: 'failed',
  BLOCKED: 'blocked',
  SUSPENDED: 'blocked',
};

/** What the end of a turn changes in its row; `kept` is the text of the answer that is stored. */
export function endedRow(end: Ended, kept: string, finishedAt: string): Partial<ExecutionRow> {
  return {
    status: statusOf[end.outcome],
    outcome: end.outcome,
    output: kept,
    blocks: end.blocks,
    parsed: end.parsed ?? null,
    model: end.model,
    provider: end.provider,
    usage: usageOf(end),
    cost: end.cost,
    latency_ms: Math.round(end.latencyMs),
    first_token_ms: end.firstTokenMs === null ? null : Math.round(end.firstTokenMs),
    tool_calls: end.toolCalls,
    timeout_clock: end.timeoutClock ?? null,
    error: end.error ?? null,
    sealed_input: null,
    sealed_bindings: null,
    finished_at: finishedAt,
  };
}

/** How long the events of a finished turn can be read again. */
const logKeptMs = 3_600_000;

export function logRow(
  { tenant_id, id }: ExecutionRow,
  events: readonly LoggedEvent[],
  nowMs: number,
): LogRow {
  const expires_at = new Date(nowMs + logKeptMs).toISOString();
  return { tenant_id, execution_id: id, events: compact(events), expires_at };
}

export function usageOf({ usage }: Ended): TurnUsage {
  const input = inputTokens(usage);
  const output = outputTokens(usage);
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

/** The end of a turn that did not run. */
export function ended(outcome: 'CANCELLED' | 'SUSPENDED' | 'BLOCKED' | 'FAILED'): Ended {
  return {
    outcome,
    content: '',
    blocks: [],
    steps: [],
    usage: zeroUsage,
    cost: 0,
    model: null,
    provider: null,
    latencyMs: 0,
    firstTokenMs: null,
    toolCalls: 0,
  };
}

/** The same with what the turn used and said until it stopped, since when it did not run. */
export function stopped(end: Ended, { steps, sentText }: LiveTurn): Ended {
  const { usage, cost, model, provider, toolCalls } = tokensOf(steps.filter((step) => step !== undefined));
  return { ...end, content: sentText, usage, cost, model, provider, toolCalls };
}

export function failed(code: ErrorCode, message: string): Ended {
  return { ...ended('FAILED'), error: { code, message } };
}
