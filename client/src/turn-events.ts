/** The events of a turn, as the platform sends them. */

export type Outcome = 'COMPLETED' | 'TIMEOUT' | 'CANCELLED' | 'FAILED' | 'BLOCKED' | 'SUSPENDED';
export type TimeoutClock = 'turn' | 'first_signal' | 'idle' | 'call';

export interface TurnUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
}

/** The first event: which fields of the request took effect, and the ids of the turn. */
export interface MetadataEvent {
  readonly type: 'metadata';
  readonly accepted_fields: readonly string[];
  readonly ignored_fields: readonly { readonly field: string; readonly reason: string }[];
  readonly session_id: string;
  readonly execution_id: string;
}

/** `restarted`: the turn continues on another node after a fault; the text so far is void. */
export interface StatusEvent {
  readonly type: 'status';
  readonly state: 'queued' | 'running' | 'restarted';
}

export interface PhaseEvent {
  readonly type: 'phase';
  readonly name: 'load' | 'intent' | 'model' | 'tools' | 'finish';
}

export interface ToolEvent {
  readonly type: 'tool';
  readonly call_id: string;
  readonly name: string;
  readonly state: 'started' | 'finished' | 'failed' | 'timeout';
  readonly latency_ms?: number;
}

/** The turn waits for a decision: `approvals.decide`. */
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

export interface QuickRepliesBlock {
  readonly type: 'quick_replies';
  readonly data: { readonly labels: readonly string[] };
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
  /** In US dollars. */
  readonly cost: number;
  readonly model: string | null;
  readonly provider: string | null;
  readonly latency_ms: number;
  readonly first_token_ms: number | null;
  readonly tool_calls: number;
}

/** Why the turn fails; `done` follows. */
export interface ErrorEvent {
  readonly type: 'error';
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly timed_out?: true;
}

/** The last event. */
export interface DoneEvent {
  readonly type: 'done';
  readonly outcome: Outcome;
  readonly session_id: string;
  readonly execution_id: string;
  readonly timed_out?: true;
  readonly timeout_clock?: TimeoutClock;
}

export type TurnEvent =
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

/** Events of later versions are left out, so that a `switch` over the type is complete. */
const known: ReadonlySet<string> = new Set<TurnEvent['type']>([
  'metadata',
  'status',
  'phase',
  'tool',
  'approval',
  'thinking',
  'delta',
  'response',
  'metrics',
  'error',
  'done',
]);

export function isTurnEvent(event: { readonly type: string }): event is TurnEvent {
  return known.has(event.type);
}
