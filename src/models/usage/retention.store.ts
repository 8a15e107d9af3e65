import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

/** Each changes at most `rowsMax` rows older than `before` and returns how many there were. */

const overlap = sql.fragment`interval '168 hours'`;

const blanked = z.object({ count: z.number(), last: z.string().nullable() });

/**
 * Goes on where the batch before it ended: with each batch reading the blanked ones again, a million calls took more than
 * twenty minutes. The next sweep begins a week before the end of this one, for calls that were recorded late. Only one
 * process at a time may do this for a tenant.
 */
export async function blankPreviews(tx: TenantTransaction, before: Date, rowsMax: number): Promise<number> {
  const { tenantId } = tx.scope;
  const { count, last } = await tx.one(sql.type(blanked)`
    with gone as (
      update calls set input_preview = '', output_preview = '' where (tenant_id, started_at, call_id) in (
        select tenant_id, started_at, call_id from calls
        where tenant_id = ${tenantId} and started_at < ${sql.timestamp(before)}
          and started_at >= (
            select coalesce(max(blanked_to), '-infinity') from blanked_previews where tenant_id = ${tenantId})
          and (input_preview <> '' or output_preview <> '')
        order by started_at limit ${rowsMax} for update)
      returning started_at
    )
    select count(*)::int8 as count, max(started_at)::text as last from gone`);
  const reached =
    count === rowsMax
      ? sql.fragment`${last}::timestamptz`
      : sql.fragment`${sql.timestamp(before)} - ${overlap}`;
  await tx.query(sql.typeAlias('nothing')`
    insert into blanked_previews as b values (${tenantId}, ${reached})
    on conflict (tenant_id) do update set blanked_to = excluded.blanked_to`);
  return count;
}

const blankedCall = z.object({ started_at: z.string() });

/**
 * Blanks the previews of at most `rowsMax` calls of a session that started in a span of time. Returns the time from which
 * the next batch goes on, or undefined at the end.
 */
export async function blankPreviewsOfSession(
  tx: TenantTransaction,
  sessionId: string,
  { from = '-infinity', before }: { readonly from: string | undefined; readonly before: string },
  rowsMax: number,
): Promise<string | undefined> {
  const { tenantId } = tx.scope;
  const blankedCalls = await tx.any(sql.type(blankedCall)`
    with gone as (
      update calls set input_preview = '', output_preview = '' where (tenant_id, started_at, call_id) in (
        select tenant_id, started_at, call_id from calls
        where tenant_id = ${tenantId} and session_id = ${sessionId}
          and started_at >= ${from}::timestamptz and started_at < ${before}::timestamptz
          and (input_preview <> '' or output_preview <> '')
        order by started_at limit ${rowsMax} for update)
      returning started_at)
    select started_at::text from gone order by gone.started_at`);
  return blankedCalls.length < rowsMax ? undefined : blankedCalls.at(-1)?.started_at;
}

export async function forgetCalls(tx: TenantTransaction, before: Date, rowsMax: number): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from calls where (tenant_id, started_at, call_id) in (
      select tenant_id, started_at, call_id from calls
      where tenant_id = ${tenantId} and started_at < ${sql.timestamp(before)}
      order by started_at limit ${rowsMax})`);
  return rowCount;
}

/** Open rows stay: the quota counts them until they are closed. */
export async function forgetUsage(tx: TenantTransaction, before: Date, rowsMax: number): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from usage_rows where (tenant_id, attempt_id) in (
      select tenant_id, attempt_id from usage_rows
      where tenant_id = ${tenantId} and opened_at < ${sql.timestamp(before)} and outcome is not null
      order by opened_at limit ${rowsMax})`);
  return rowCount;
}
