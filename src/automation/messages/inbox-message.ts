import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { TriggerConfig } from '../triggers/config/trigger-config.js';
import type { InvokedBy } from '../triggers/ports.js';
import type { MessagePayload } from './message-payload.js';

/** A message on its way to a session. */
export interface InboxMessage {
  readonly scope: TenantScope;
  readonly triggerId: string;
  readonly sessionId: string;
  readonly executionId: string;
  readonly work: MessagePayload;
  /** Its row in the inbox; undefined for one that nobody was promised anything for. */
  readonly row: { readonly trigger_id: string; readonly key: string; readonly seq: number } | undefined;
  /** Never of one with a row: whoever runs a trigger by hand waits for it. */
  readonly invokedBy?: InvokedBy;
  readonly attempts: number;
  readonly ageMs: number;
}

/** What the execution is said to have come by. */
export function channelOf(parsed: TriggerConfig): string {
  return (parsed.type === 'webhook' ? parsed.config.channel?.type : undefined) ?? parsed.type;
}
