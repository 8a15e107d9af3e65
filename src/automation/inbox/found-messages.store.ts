import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import { isBehindInserted } from './behind.store.js';

export interface FoundMessage {
  readonly triggerId: string;
  readonly key: string;
  readonly sessionId: string;
  readonly executionId: string;
  readonly sealed: Buffer;
  readonly holdMs: number;
  readonly keepMs: number;
}

const placeRow = z.object({ seq: z.coerce.number(), is_behind: z.boolean() });

/** Inserts an inbox row for a polled message and returns its place; null if it was found before. */
export async function insertFound(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  found: FoundMessage,
): Promise<z.output<typeof placeRow> | null> {
  return tx.maybeOne(sql.type(placeRow)`
    insert into trigger_inbox (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed,
      attempts, due_at, expires_at)
    values (${tenantId}, ${found.triggerId}, ${found.key}, ${found.sessionId}, ${found.executionId}, 'running', '',
      ${sql.binary(found.sealed)}, 1, clock_timestamp() + ${found.holdMs} * interval '1 millisecond',
      clock_timestamp() + ${found.keepMs} * interval '1 millisecond')
    on conflict (tenant_id, trigger_id, key) do nothing
    returning seq, ${isBehindInserted} as is_behind`);
}

/** Records a row that a poll has seen and skips, so that no later poll reports it. Returns false if it was known. */
export async function noteSeen(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { triggerId, key, keepMs }: Pick<FoundMessage, 'triggerId' | 'key' | 'keepMs'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    insert into trigger_inbox (tenant_id, trigger_id, key, session_id, state, payload_hash, sealed, due_at, expires_at)
    values (${tenantId}, ${triggerId}, ${key}, ${triggerId}, 'done', '', '', clock_timestamp(),
      clock_timestamp() + ${keepMs} * interval '1 millisecond')
    on conflict (tenant_id, trigger_id, key) do nothing`);
  return rowCount === 1;
}

/** Whether a run of the trigger is in progress. */
export function isRunning(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
): Promise<boolean> {
  return tx.exists(sql.typeAlias('nothing')`
    select from trigger_inbox where tenant_id = ${tenantId} and trigger_id = ${triggerId} and state = 'running'`);
}

/**
 * A part of a statement that puts messages of many tenants into the inbox, to run at once: `rows` names a relation with
 * `tenant_id`, `trigger_id`, `key`, `session_id`, `execution_id`, `sealed`, `hold_ms`, `keep_ms` and `position`. Returns
 * the execution ids and places of the messages that were not in the inbox.
 */
export function messagesFoundFrom(rows: string): string {
  return `insert into trigger_inbox (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed,
      attempts, due_at, expires_at)
    select tenant_id, trigger_id, key, session_id, execution_id, 'running', '', sealed, 1,
      clock_timestamp() + hold_ms * interval '1 millisecond',
      clock_timestamp() + keep_ms * interval '1 millisecond'
    from ${rows} order by position
    on conflict (tenant_id, trigger_id, key) do nothing
    returning execution_id::text, seq, ${isBehindInserted.sql} as is_behind`;
}
