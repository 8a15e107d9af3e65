import type { TenantScope } from '../../kernel/tenant-scope.js';
import { requestsOf, type TriggerConfig } from '../triggers/types/registry.js';
import type { InvokedBy } from '../triggers/ports.js';
import type { MessagePayload } from './message-payload.js';

export interface InboxPlace {
  readonly trigger_id: string;
  readonly key: string;
  /** Its position in the order of acceptance. */
  readonly seq: number;
  /** Older messages of its session ran when this one was accepted, or may have. They are looked for before it begins. */
  readonly isBehind?: boolean;
}

/** A message on its way to a session. */
export interface InboxMessage {
  readonly scope: TenantScope;
  readonly triggerId: string;
  readonly sessionId: string;
  readonly executionId: string;
  readonly work: MessagePayload;
  /** `work` is that of no message: it is read when the message begins. */
  readonly isUnread?: boolean;
  /** `work` has all messages of a buffer, which must be split before a turn runs. */
  readonly isForSeveralTurns?: boolean;
  /** Its row in the inbox; undefined for a message without a promised answer. */
  readonly row: InboxPlace | undefined;
  /** Only for a message without a row: the person who runs a trigger by hand waits for the answer. */
  readonly invokedBy?: InvokedBy;
  readonly attempts: number;
  readonly ageMs: number;
}

/** The channel recorded with the execution. */
export function channelOf(parsed: TriggerConfig): string {
  return requestsOf(parsed)?.channel?.type ?? parsed.type;
}
