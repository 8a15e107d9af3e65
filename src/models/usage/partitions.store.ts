/** The partitions of `calls`, one for each month (UTC). */
import { z } from 'zod';
import { type DirectoryTransaction, sql, type Store } from '../../infra/storage/index.js';

/** Creates the partitions for this month and the next ones. */
export async function preparePartitions(store: Store, now: Date): Promise<void> {
  await store.directory((tx) =>
    tx.any(sql.type(z.object({}))`select prepare_call_partitions(${now.toISOString()}::timestamptz)`),
  );
}

const monthRow = z.object({ month: z.string() });

/**
 * The months of which no tenant keeps a row, oldest first, as their first days. Empty ones are among them. A month is
 * asked for each tenant until one keeps a row of it, by the primary key.
 */
async function expiredMonths(
  tx: DirectoryTransaction,
  now: Date,
  daysDefault: number,
  only: string | null,
): Promise<readonly string[]> {
  const at = sql.fragment`${now.toISOString()}::timestamptz`;
  const rows = await tx.any(sql.type(monthRow)`
    with months as (
      select m.month, m.month at time zone 'UTC' as starts, (m.month + interval '1 month') at time zone 'UTC' as ends
      from (
        select to_date(substr(c.relname, 7), 'YYYY_MM')::timestamp as month
        from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'calls'::regclass and c.relname ~ '^calls_[0-9]{4}_[0-9]{2}$'
      ) m
    )
    select to_char(m.month, 'YYYY-MM-DD') as month from months m
    where m.ends <= ${at} - interval '48 hours' and (${only}::date is null or m.month = ${only}::date)
      and not exists (
        select from tenant_retention t
        where exists (
          select from calls c
          where c.tenant_id = t.tenant_id and c.started_at >= m.starts and c.started_at < m.ends
            and c.started_at >= ${at}
              - make_interval(hours => 24 * coalesce((t.retention ->> 'usage_days')::int, ${daysDefault}::int))))
    order by 1`);
  return rows.map(({ month }) => month);
}

/**
 * Drops the partitions whose rows are all gone or kept no longer, each in a transaction of its own. A month that is in use
 * at the moment is left for the next time, and so is a row that arrives for it meanwhile.
 */
export async function dropExpiredMonths(store: Store, now: Date, daysDefault: number): Promise<number> {
  let dropped = 0;
  for (const month of await store.directory((tx) => expiredMonths(tx, now, daysDefault, null))) {
    dropped += await store.directory(async (tx) => {
      const isHeld = await tx.oneFirst(
        sql.type(z.object({ held: z.boolean() }))`select hold_call_partition(${month}::date) as held`,
      );
      // A row may have come between the two looks; after this one none can.
      if (!isHeld || (await expiredMonths(tx, now, daysDefault, month)).length === 0) return 0;
      const isDropped = await tx.oneFirst(
        sql.type(z.object({ dropped: z.boolean() }))`select drop_call_partition(${month}::date) as dropped`,
      );
      return Number(isDropped);
    });
  }
  return dropped;
}
