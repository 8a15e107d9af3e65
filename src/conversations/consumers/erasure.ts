import { forgetAuditedConsumer, recordAudit } from '../../tenancy/audit/index.js';
import type { KeyedHash } from '../../infra/sealing/index.js';
import { recordChange, type TenantTransaction } from '../../infra/storage/index.js';
import { forgetEventsOfConsumer } from '../realtime/index.js';
import { eraseConsumer } from './consumers.store.js';
import { denylistTopic } from './denylist.js';
import { eraseFacts } from './facts.store.js';

const prefix = 'erased:';

/** The keys under which the block of an erased consumer may stand. */
export function erasedKeys(hash: KeyedHash, tenantId: string, key: string): readonly string[] {
  return hash.all(tenantId, key).map((one) => prefix + one);
}

/** What stands for the key of an erased consumer. */
export function erasedKey(hash: KeyedHash, tenantId: string, key: string): string {
  return prefix + hash.of(tenantId, key);
}

export interface Erased {
  readonly sessions: number;
  readonly messages: number;
  readonly executions: number;
}

/** Returns the number of the change of the denylist; undefined without a block. */
export async function erasePerson(
  tx: TenantTransaction,
  hash: KeyedHash,
  { key, actor, erased }: { readonly key: string; readonly actor: string; readonly erased: Erased },
): Promise<number | undefined> {
  const { tenantId } = tx.scope;
  const hashed = erasedKey(hash, tenantId, key);
  const wasBlocked = await eraseConsumer(tx, key, hashed);
  await eraseFacts(tx, key);
  await forgetEventsOfConsumer(tx, key);
  await forgetAuditedConsumer(tx, key, hashed);
  await recordAudit(tx, {
    tenantId,
    actor,
    action: 'consumer.erased',
    subject: `consumer:${hashed}`,
    details: { ...erased },
  });
  return wasBlocked ? recordChange(tx, { topic: denylistTopic, tenantId, subject: tenantId }) : undefined;
}
