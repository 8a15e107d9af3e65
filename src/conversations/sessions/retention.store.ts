import { z } from 'zod';
import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';

/** Where a batch of messages ended: all older ones up to this one are gone. */
export interface MessagePlace {
  readonly session_id: string;
  readonly number: number;
}

/** After every message of its session. */
const atEnd = Number.MAX_SAFE_INTEGER;

const begunSession = z.object({ session_id: z.uuid(), is_old: z.boolean() });
const messagePlace = z.object({ session_id: z.uuid(), number: z.number() });

/**
 * Deletes at most `rowsMax` messages older than `before`, session by session from `after` on. Returns the place for the
 * next batch, or undefined at the end. A session is read from its oldest message up to the first that is kept, so that
 * neither kept messages nor those of other tenants are read again by each batch.
 */
export async function forgetMessages(
  tx: TenantTransaction,
  before: Date,
  after: MessagePlace | undefined,
  rowsMax: number,
): Promise<MessagePlace | undefined> {
  // By the size of an average session PostgreSQL would rather read a session whole and sort it, at each batch of a long one.
  await tx.query(sql.typeAlias('nothing')`set local enable_bitmapscan = off`);
  await tx.query(sql.typeAlias('nothing')`set local enable_seqscan = off`);
  const begun = await sessionsFrom(tx, before, after, rowsMax);
  const old = begun.filter((one) => one.is_old).map((one) => one.session_id);
  const gone = old.length === 0 ? [] : await forgetOldest(tx, before, { sessions: old, after, rowsMax });
  if (gone.length >= rowsMax) return gone.reduce((last, one) => (isBehind(one, last) ? one : last));
  const last = begun.at(-1);
  return begun.length < rowsMax || last === undefined
    ? undefined
    : { session_id: last.session_id, number: atEnd };
}

function isBehind(one: MessagePlace, other: MessagePlace): boolean {
  return one.session_id === other.session_id ? one.number > other.number : one.session_id > other.session_id;
}

/** Sessions by id, and whether their next message is old. */
function sessionsFrom(
  tx: TenantTransaction,
  before: Date,
  after: MessagePlace | undefined,
  rowsMax: number,
): Promise<readonly z.output<typeof begunSession>[]> {
  const { tenantId } = tx.scope;
  const rest = after === undefined ? sql.fragment`` : sql.fragment`and s.id >= ${after.session_id}::uuid`;
  return tx.any(sql.type(begunSession)`
    select s.id as session_id, coalesce((
        select m.created_at < ${sql.timestamp(before)} from messages m
        where m.tenant_id = s.tenant_id and m.session_id = s.id and ${isAfter(after)}
        order by m.number limit 1), false) as is_old
    from sessions s where s.tenant_id = ${tenantId} ${rest}
    order by s.id limit ${rowsMax}`);
}

function forgetOldest(
  tx: TenantTransaction,
  before: Date,
  {
    sessions,
    after,
    rowsMax,
  }: {
    readonly sessions: readonly string[];
    readonly after: MessagePlace | undefined;
    readonly rowsMax: number;
  },
): Promise<readonly MessagePlace[]> {
  const { tenantId } = tx.scope;
  return tx.any(sql.type(messagePlace)`
    delete from messages where (tenant_id, session_id, number) in (
      select ${tenantId}::uuid, s.id, o.number
      from (select id from unnest(${sql.array([...sessions], 'uuid')}) id order by id) s
      cross join lateral (
        select coalesce((
          select k.number from (
            select m.number, m.created_at from messages m
            where m.tenant_id = ${tenantId} and m.session_id = s.id and ${isAfter(after)}
            order by m.number limit ${rowsMax}) k
          where k.created_at >= ${sql.timestamp(before)} order by k.number limit 1), ${atEnd}::bigint) as number
        -- Kept apart: under a row policy a subselect is not compared within the index.
        offset 0) kept
      cross join lateral (
        select m.number from messages m
        where m.tenant_id = ${tenantId} and m.session_id = s.id and ${isAfter(after)} and m.number < kept.number
        order by m.number limit ${rowsMax}) o
      order by s.id limit ${rowsMax})
    returning session_id, number`);
}

function isAfter(after: MessagePlace | undefined) {
  return after === undefined
    ? sql.fragment`true`
    : sql.fragment`m.number > case when s.id = ${after.session_id}::uuid then ${after.number}::bigint else 0 end`;
}

/** Each deletes at most `rowsMax` rows older than `before` and returns how many there were. */

/** Their steps go with them. An execution without an outcome stays: its session's actor works on it. */
export async function forgetExecutions(
  tx: TenantTransaction,
  before: Date,
  rowsMax: number,
): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from executions where (tenant_id, id) in (
      select tenant_id, id from executions
      where tenant_id = ${tenantId} and created_at < ${sql.timestamp(before)} and outcome is not null
      order by created_at limit ${rowsMax})`);
  return rowCount;
}

/** No turn of the session waits or runs, and no message is on its way to it. Its row changes only when a turn ends. */
const isIdle = sql.fragment`not exists (
    select from executions e where e.tenant_id = s.tenant_id and e.session_id = s.id and e.outcome is null)
  and not exists (
    select from awaited_messages m where m.tenant_id = s.tenant_id and m.session_id = s.id)`;

/** Whether the session may be erased because it is kept no longer. */
export function isUnused(tx: TenantTransaction, id: string, before: Date): Promise<boolean> {
  return tx.oneFirst(sql.type(z.object({ is_unused: z.boolean() }))`
    select exists (select from sessions s where s.tenant_id = ${tx.scope.tenantId} and s.id = ${id}
      and s.last_interaction < ${sql.timestamp(before)} and ${isIdle}) as is_unused`);
}

const oldSession = z.object({ id: z.string(), last_interaction: z.date() });
export type OldSession = z.output<typeof oldSession>;

/** Sessions that are not used and whose last message is older, from the oldest on. Their actors erase them, under their fences. */
export function sessionsBefore(
  tx: TenantTransaction,
  before: Date,
  after: OldSession | undefined,
  rowsMax: number,
): Promise<readonly OldSession[]> {
  const { tenantId } = tx.scope;
  const rest =
    after === undefined
      ? sql.fragment``
      : sql.fragment`and (last_interaction, id) > (${after.last_interaction.toISOString()}::timestamptz, ${after.id}::uuid)`;
  return tx.any(sql.type(oldSession)`
    select id, last_interaction from sessions s
    where tenant_id = ${tenantId} and last_interaction < ${sql.timestamp(before)} and ${isIdle} ${rest}
    order by last_interaction, id limit ${rowsMax}`);
}

/** Event logs whose readers may no longer come back. The policy hides the others. */
export async function forgetLogs(tx: DirectoryTransaction, rowsMax: number): Promise<number> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from execution_logs where (tenant_id, execution_id) in (
      select tenant_id, execution_id from execution_logs where expires_at < now()
      order by expires_at limit ${rowsMax})`);
  return rowCount;
}

export async function forgetErased(tx: DirectoryTransaction, rowsMax: number): Promise<number> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from ended_by_erasure where (tenant_id, id) in (
      select tenant_id, id from ended_by_erasure where erased_at < now() - interval '1 day'
      order by erased_at limit ${rowsMax})`);
  return rowCount;
}
