import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import type { TriggerConfig } from '../triggers/config/trigger-config.js';
import type { TriggerRow } from '../triggers/triggers.store.js';
import { armedSchedule } from './schedules.js';
import { armSchedule, armSource, storeNow } from './sources.store.js';

/** Updates the polling of a trigger's source in the transaction that changes the trigger. */
export async function armTrigger(
  scope: TenantScope,
  tx: TenantTransaction,
  row: TriggerRow,
  parsed: TriggerConfig,
  /** The source's start position, if it had to be queried first. */
  beginning?: object,
): Promise<void> {
  if (parsed.type === 'webhook') return;
  // PostgreSQL's clock, which also decides when the source is due.
  const now = await storeNow(tx);
  if (parsed.type === 'schedule') {
    const { state, dueAt } = armedSchedule(parsed.config, row.revision, now.getTime());
    await armSchedule(scope, tx, {
      triggerId: row.id,
      state,
      dueAt: row.enabled ? dueAt : undefined,
    });
    return;
  }
  await armSource(scope, tx, {
    triggerId: row.id,
    kind: parsed.type,
    state: beginning,
    // Set even if the mailbox cannot be reached for some time.
    ...(parsed.type === 'email' ? { firstState: { began_ms: now.getTime() } } : {}),
    // Mail sent to this node needs no polling.
    dueAt: row.enabled && !comesByItself(parsed) ? now : undefined,
  });
}

function comesByItself(parsed: TriggerConfig): boolean {
  return parsed.type === 'email' && parsed.config.imap === undefined;
}
