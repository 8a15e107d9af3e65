import type { Ids } from '../../kernel/chance.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import { holdMs } from '../inbox/inbox-runner.js';
import type { MessagePayload, MessageSealer } from '../messages/message-payload.js';
import { insertFound } from '../inbox/found-messages.store.js';

export interface Found {
  readonly triggerId: string;
  /** Unique within the trigger: a message that is found twice runs once. */
  readonly key: string;
  readonly sessionId: string;
  readonly work: Omit<MessagePayload, 'requestId'>;
  readonly keepMs: number;
}

/** Puts a polled message into the inbox; undefined if it was found before. */
export async function putIntoInbox(
  scope: TenantScope,
  tx: TenantTransaction,
  { seal, ids }: { readonly seal: MessageSealer; readonly ids: Ids },
  { triggerId, key, sessionId, work: given, keepMs }: Found,
): Promise<InboxMessage | undefined> {
  const executionId = ids.uuid();
  const work: MessagePayload = { ...given, requestId: key };
  const sealed = seal.seal(scope, work);
  const place = await insertFound(scope, tx, {
    triggerId,
    key,
    sessionId,
    executionId,
    sealed,
    holdMs,
    keepMs,
  });
  if (place === null) return undefined;
  const row = { trigger_id: triggerId, key, seq: place.seq, isBehind: place.is_behind };
  return { scope, triggerId, sessionId, executionId, work, row, attempts: 1, ageMs: 0 };
}
