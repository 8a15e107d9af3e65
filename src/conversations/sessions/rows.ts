import type { AttachmentRef } from '../attachments/index.js';
import type { ConsumerTouch, FactsRow } from '../consumers/index.js';
import type { Author, FlatObject, Outcome, TurnUsage } from '../invocation/index.js';
import type { RealtimeEventRow } from '../realtime/index.js';
import type { QuickReplies, TurnError, Wait } from '../turns/index.js';
import type { GivenResponseFormat } from '../../models/response-format/index.js';
import type { OpenedRow } from '../../models/usage/index.js';

/** The rows of a session as its actor holds and writes them. Timestamps are ISO texts, as in JSON. */

export type ControlKind = 'suspend' | 'handoff';
export type ControlMode = 'engaged' | 'manual_handoff';

export interface SessionRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly agent_id: string;
  readonly slot: number;
  readonly consumer_key: string | null;
  readonly consumer_display_name: string | null;
  /** Several people write in it; `consumer_key` is the first of them. */
  readonly has_several: boolean;
  readonly channel: string;
  /** The author that counts as the session's starter, see `starterAfter`. */
  readonly started_by: Author | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly control_mode: ControlMode;
  readonly control_kind: ControlKind | null;
  readonly control_reason: string | null;
  readonly control_by: string | null;
  readonly control_since: string | null;
  readonly control_expires_at: string | null;
  readonly control_epoch: number;
  readonly summary: string | null;
  readonly summary_to: number;
  readonly last_arrival: number;
  readonly last_message: number;
  readonly total_turns: number;
  readonly created_at: string;
  readonly last_interaction: string;
}

export interface MessageRow {
  readonly tenant_id: string;
  readonly session_id: string;
  readonly number: number;
  readonly id: string;
  readonly role: 'user' | 'assistant';
  /** Null for messages from before authors were recorded. */
  readonly author: Author | null;
  readonly content: string;
  readonly attachments: readonly AttachmentRef[];
  readonly declared_context: FlatObject | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly execution_id: string | null;
  readonly created_at: string;
}

export type ExecutionStatus =
  | 'queued'
  | 'running'
  /** For people's decisions on calls of tools. */
  | 'waiting'
  | 'completed'
  | 'failed'
  | 'timeout'
  | 'cancelled'
  | 'blocked';

/** The stored part of a turn's input. */
export interface StoredInput {
  /** Empty if the message has only attachments. */
  readonly message: string;
  readonly attachments?: readonly AttachmentRef[];
  /** The schema that the answer must fit, in place of the agent's. */
  readonly response_format?: GivenResponseFormat;
  /** Undefined for turns that an older node, which did not record authors, accepted. */
  readonly author?: Author;
  readonly declared_context: FlatObject | null;
  readonly accepted_fields: readonly string[];
  readonly ignored_fields: readonly { readonly field: string; readonly reason: string }[];
  readonly quick_replies: boolean;
  /** The caller's role, which decides what agents the turn may use. */
  readonly role: 'owner' | 'admin' | 'editor' | 'member';
  /** Bindings are kept in memory only, until the turn waits for people: without them it cannot continue on another node. */
  readonly needs_bindings: boolean;
  /** The time limit of the turn, from the start of its model loop. */
  readonly deadline_ms: number;
  /** The number of the user's message, once it is part of the conversation. */
  readonly message_number?: number;
  /** The span of the request that asked for the turn, for whichever node runs it. */
  readonly traceparent?: string;
  /** How many of the starts (`attempts`) were in processes that left in order. */
  readonly handovers?: number;
  /** The answer must fit the agent's schema, so readers see none of it before it is whole. */
  readonly holds_text?: boolean;
  /** When the turn waited for people, in milliseconds. */
  readonly waits?: readonly Wait[];
  /** The id of the turn's last event, once it has ended: readers continue from it after the log is gone. */
  readonly last_event?: number | undefined;
}

export interface ExecutionRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly session_id: string | null;
  readonly agent_id: string;
  readonly agent_version: number | null;
  readonly trigger_id: string | null;
  readonly slot: number;
  readonly arrival: number;
  readonly channel: string;
  readonly key_id: string | null;
  readonly user_id: string | null;
  readonly status: ExecutionStatus;
  readonly outcome: Outcome | null;
  readonly attempts: number;
  readonly worker: string | null;
  readonly due_at: string;
  readonly cancelled_by: string | null;
  readonly input: StoredInput;
  readonly sealed_input: string | null;
  /** Set while the turn waits for people, and until its end. */
  readonly sealed_bindings: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly output: string | null;
  readonly blocks: readonly QuickReplies[];
  /** The answer as a value; null unless it had to fit a schema. */
  readonly parsed: unknown;
  readonly model: string | null;
  readonly provider: string | null;
  readonly usage: TurnUsage | null;
  readonly cost: number;
  readonly latency_ms: number | null;
  readonly first_token_ms: number | null;
  readonly tool_calls: number;
  readonly timeout_clock: string | null;
  readonly error: TurnError | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

export interface StepRow {
  readonly tenant_id: string;
  readonly execution_id: string;
  readonly number: number;
  readonly kind: string;
  readonly name: string;
  readonly state: string;
  readonly detail: unknown;
  readonly started_at: string;
  readonly finished_at: string | null;
}

export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'voided';

export interface ApprovalRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly session_id: string;
  readonly execution_id: string;
  readonly place: string;
  readonly call_id: string;
  readonly tool: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly sealed_arguments: string;
  readonly sealed_edit: string | null;
  readonly status: ApprovalStatus;
  readonly decided_by: string | null;
  readonly reason: string | null;
  readonly decided_at: string | null;
  readonly created_at: string;
  readonly expires_at: string;
}

export interface LogRow {
  readonly tenant_id: string;
  readonly execution_id: string;
  readonly events: unknown;
  readonly expires_at: string;
}

export interface BoundAttachment {
  readonly tenant_id: string;
  readonly id: string;
  readonly message_id: string;
}

export interface ParticipantRow {
  readonly tenant_id: string;
  readonly session_id: string;
  readonly consumer_key: string;
  readonly joined_at: string;
}

/** A person to be erased from a session in which others go on. */
export interface ErasedPerson {
  readonly tenant_id: string;
  readonly session_id: string;
  readonly consumer_key: string;
}

/** What one transaction of a session writes. */
export interface SessionWrite {
  readonly session?: SessionRow;
  readonly participants?: readonly ParticipantRow[];
  readonly messages?: readonly MessageRow[];
  readonly executions?: readonly ExecutionRow[];
  readonly steps?: readonly StepRow[];
  readonly logs?: readonly LogRow[];
  readonly approvals?: readonly ApprovalRow[];
  /** Ledger rows of model calls, opened together with the steps that make the calls. */
  readonly opened?: readonly OpenedRow[];
  readonly touches?: readonly ConsumerTouch[];
  readonly facts?: readonly FactsRow[];
  /** Attachments that are part of the conversation with these messages. */
  readonly attachments?: readonly BoundAttachment[];
  /** Realtime events for the tenant's users. */
  readonly realtimeEvents?: readonly RealtimeEventRow[];
  readonly erasedPeople?: readonly ErasedPerson[];
  /** Deletes the session and everything that belongs to it. */
  readonly erase?: { readonly tenant_id: string; readonly id: string };
}

/** Executions of the write that already had an outcome and were left unchanged. */
export interface SessionWritten {
  readonly finishedBefore: ReadonlySet<string>;
}

export interface SessionLoad {
  readonly tenantId: string;
  readonly sessionId: string;
}

export interface SessionLoaded {
  readonly session: SessionRow | undefined;
  /** The newest messages, oldest first. */
  readonly messages: readonly MessageRow[];
  /** In the order of their arrival. */
  readonly unfinished: readonly ExecutionRow[];
  readonly steps: readonly StepRow[];
  /** Of the unfinished turns. */
  readonly approvals: readonly ApprovalRow[];
}

export function isFinished({ outcome }: ExecutionRow): boolean {
  return outcome !== null;
}
