import type { TenantScope } from '../../context/tenant-scope.js';
import type { TenantTransaction } from '../../storage/index.js';
import type { TriggerConfig } from '../config/trigger-config.js';
import type { TriggerRow } from '../triggers.store.js';
import { armedSchedule } from './schedules.js';
import { armSource } from './sources.store.js';

/** What a change of a trigger means for how it is looked at: part of the transaction that changes it. */
export async function armTrigger(
  scope: TenantScope,
  tx: TenantTransaction,
  row: TriggerRow,
  parsed: TriggerConfig,
  nowMs: number,
  /** Where the source begins, if that had to be asked for before. */
  beginning?: object,
): Promise<void> {
  if (parsed.type === 'webhook') return;
  if (parsed.type === 'schedule') {
    const { state, dueAt } = armedSchedule(parsed.config, nowMs);
    await armSource(scope, tx, {
      triggerId: row.id,
      kind: 'schedule',
      state,
      dueAt: row.enabled ? dueAt : undefined,
    });
    return;
  }
  await armSource(scope, tx, {
    triggerId: row.id,
    kind: parsed.type,
    state: beginning,
    // Mail that is sent here comes by itself.
    dueAt: row.enabled && !comesByItself(parsed) ? new Date(nowMs) : undefined,
  });
}

function comesByItself(parsed: TriggerConfig): boolean {
  return parsed.type === 'email' && parsed.config.imap === undefined;
}
