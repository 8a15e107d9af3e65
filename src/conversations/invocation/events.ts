/**
 * The events of a turn's stream: a closed set, in the form that clients read. Every stream begins with `metadata`
 * and ends with exactly one `done`, or breaks off with an `error` that says how the connection failed.
 */
import type { QuickRepliesBlock } from './quick-replies.js';

export const outcomes = ['COMPLETED', 'TIMEOUT', 'CANCELLED', 'FAILED', 'BLOCKED', 'SUSPENDED'] as const;
export type Outcome = (typeof outcomes)[number];

export const timeoutClocks = ['turn', 'first_signal', 'idle', 'call'] as const;
export type TimeoutClock = (typeof timeoutClocks)[number];

export const phases = ['load', 'intent', 'model', 'tools', 'finish'] as const;
export type Phase = (typeof phases)[number];

/**
 * `queued`: another turn of the session runs first. `restarted`: the turn continues on another node after a fault;
 * readers drop the partial text.
 */
export type TurnState = 'queued' | 'running' | 'restarted';

export type ToolState = 'started' | 'finished' | 'failed' | 'timeout';

export interface TurnUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
}

/** Always the first event. */
export interface MetadataEvent {
  readonly type: 'metadata';
  readonly accepted_fields: readonly string[];
  /** The reasons are those of `IgnoredField`, as the node that accepted the turn wrote them. */
  readonly ignored_fields: readonly { readonly field: string; readonly reason: string }[];
  readonly session_id: string;
  readonly execution_id: string;
}

export interface StatusEvent {
  readonly type: 'status';
  readonly state: TurnState;
}

export interface PhaseEvent {
  readonly type: 'phase';
  readonly name: Phase;
}

export interface ToolEvent {
  readonly type: 'tool';
  readonly call_id: string;
  readonly name: string;
  readonly state: ToolState;
  readonly latency_ms?: number;
}

/** The turn waits for a person's decision on this call. */
export interface ApprovalEvent {
  readonly type: 'approval';
  readonly approval_id: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface ThinkingEvent {
  readonly type: 'thinking';
  readonly content: string;
}

/** A piece of the text while it is generated. */
export interface DeltaEvent {
  readonly type: 'delta';
  readonly content: string;
}

/** The whole text, once. */
export interface ResponseEvent {
  readonly type: 'response';
  readonly content: string;
  readonly blocks?: readonly QuickRepliesBlock[];
  /** The content as a value, if it had to fit a schema. */
  readonly parsed?: unknown;
}

export interface MetricsEvent {
  readonly type: 'metrics';
  readonly usage: TurnUsage;
  readonly cost: number;
  /** Null if no model was called. */
  readonly model: string | null;
  readonly provider: string | null;
  readonly latency_ms: number;
  readonly first_token_ms: number | null;
  readonly tool_calls: number;
}

export interface ErrorEvent {
  readonly type: 'error';
  /** An `ErrorCode`, in the spelling of invocations; of a later version, if another node ran the turn. */
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** With `EXECUTION_TIMEOUT` and `STREAM_TIMEOUT`: the connection failed; the turn may still succeed. */
  readonly timed_out?: true;
}

/** Always the last event. */
export interface DoneEvent {
  readonly type: 'done';
  readonly outcome: Outcome;
  readonly session_id: string;
  readonly execution_id: string;
  readonly timed_out?: true;
  readonly timeout_clock?: TimeoutClock;
}

export type StreamEvent =
  | MetadataEvent
  | StatusEvent
  | PhaseEvent
  | ToolEvent
  | ApprovalEvent
  | ThinkingEvent
  | DeltaEvent
  | ResponseEvent
  | MetricsEvent
  | ErrorEvent
  | DoneEvent;

/** The last event of a turn. */
export function doneEvent(
  ids: { readonly session_id: string; readonly execution_id: string },
  outcome: Outcome,
  timeoutClock?: TimeoutClock,
): DoneEvent {
  const done: DoneEvent = { type: 'done', outcome, ...ids };
  return timeoutClock === undefined ? done : { ...done, timed_out: true, timeout_clock: timeoutClock };
}

/** Reports the failure of the connection, not of the turn. */
export function transportExpiry(code: 'EXECUTION_TIMEOUT' | 'STREAM_TIMEOUT', message: string): ErrorEvent {
  return { type: 'error', code, message, timed_out: true };
}

/** The last event of a stream that needs nothing more of this node, which is stopping. */
export const nodeStopping: ErrorEvent = {
  type: 'error',
  code: 'service_unavailable',
  message: 'The node is stopping. Open the stream again, that of a turn with Last-Event-ID.',
};
