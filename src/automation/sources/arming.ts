import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import type { TriggerConfig } from '../triggers/config/trigger-config.js';
import type { TriggerRow } from '../triggers/triggers.store.js';
import { armedSchedule } from './schedules.js';
import { armSchedule, armSource, storeNow } from './sources.store.js';

/** What a change of a trigger means for how it is looked at: part of the transaction that changes it. */
export async function armTrigger(
  scope: TenantScope,
  tx: TenantTransaction,
  row: TriggerRow,
  parsed: TriggerConfig,
  /** Where the source begins, if that had to be asked for before. */
  beginning?: object,
): Promise<void> {
  if (parsed.type === 'webhook') return;
  // By the clock that says when it is due.
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
    // Also where the mailbox cannot be looked into before long.
    ...(parsed.type === 'email' ? { firstState: { began_ms: now.getTime() } } : {}),
    // Mail that is sent here comes by itself.
    dueAt: row.enabled && !comesByItself(parsed) ? now : undefined,
  });
}

function comesByItself(parsed: TriggerConfig): boolean {
  return parsed.type === 'email' && parsed.config.imap === undefined;
}
