import { z } from 'zod';
import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';

export async function sessionsOfConsumer(
  tx: TenantTransaction,
  key: string,
  limit: number,
): Promise<readonly string[]> {
  const { tenantId } = tx.scope;
  const rows = await tx.any(sql.typeAlias('id')`
    select id from (
      select id from sessions where tenant_id = ${tenantId} and consumer_key = ${key}
      union
      select session_id as id from session_participants where tenant_id = ${tenantId} and consumer_key = ${key}
    ) theirs limit ${limit}`);
  return rows.map(({ id }) => id);
}

/** The first of the others who write in the session. */
export async function otherParticipant(
  tx: TenantTransaction,
  sessionId: string,
  key: string,
): Promise<string | undefined> {
  const found = await tx.maybeOneFirst(sql.type(z.object({ consumer_key: z.string() }))`
    select consumer_key from session_participants
    where tenant_id = ${tx.scope.tenantId} and session_id = ${sessionId} and consumer_key <> ${key}
    order by joined_at, consumer_key limit 1`);
  return found ?? undefined;
}

const counts = z.object({ messages: z.number(), executions: z.number() });

export function countsOfSession(tx: TenantTransaction, id: string): Promise<z.output<typeof counts>> {
  const { tenantId } = tx.scope;
  return tx.one(sql.type(counts)`
    select
      (select count(*)::int from messages where tenant_id = ${tenantId} and session_id = ${id}) as messages,
      (select count(*)::int from executions where tenant_id = ${tenantId} and session_id = ${id}) as executions`);
}

/** What is one person's in a session of several: their messages, and what these caused. */
export function countsOfPerson(
  tx: TenantTransaction,
  id: string,
  key: string,
): Promise<z.output<typeof counts>> {
  const { tenantId } = tx.scope;
  return tx.one(sql.type(counts)`
    with caused as (
      select execution_id as id from messages
      where tenant_id = ${tenantId} and session_id = ${id} and is_written_by(author, ${key})
      union
      select id from executions
      where tenant_id = ${tenantId} and session_id = ${id} and is_written_by(input -> 'author', ${key})
    )
    select
      (select count(*)::int from messages where tenant_id = ${tenantId} and session_id = ${id}
        and (is_written_by(author, ${key}) or execution_id in (select c.id from caused c))) as messages,
      (select count(*)::int from executions
        where tenant_id = ${tenantId} and id in (select c.id from caused c)) as executions`);
}

/**
 * Deletes at most `limit` of the person's executions that no session had: messages of a blocked sender, or that were
 * refused, also those that only claim to be theirs. Returns how many there were.
 */
export async function eraseRefused(tx: TenantTransaction, key: string, limit: number): Promise<number> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from executions where tenant_id = ${tenantId} and id in (
      select id from executions
      where tenant_id = ${tenantId} and arrival = 0
        and (is_written_by(input -> 'author', ${key}) or input ->> 'claimed_sender' = ${key}) limit ${limit})`);
  return rowCount;
}

/** Whether the session has more than so many messages or executions: its rows go in batches. */
export function isLarge(tx: TenantTransaction, id: string, rowsMax: number): Promise<boolean> {
  const { tenantId } = tx.scope;
  return tx.oneFirst(sql.type(z.object({ is_large: z.boolean() }))`
    select exists (select from messages where tenant_id = ${tenantId} and session_id = ${id} offset ${rowsMax})
      or exists (select from executions where tenant_id = ${tenantId} and session_id = ${id} offset ${rowsMax})
      as is_large`);
}

/** The newest message and execution of the session. */
export function lastRowOf(tx: TenantTransaction, id: string): Promise<LastRow> {
  const { tenantId } = tx.scope;
  return tx.one(sql.type(z.object({ message: z.number(), execution: z.number(), readAt: z.string() }))`
    select now()::text as "readAt",
      (select coalesce(max(number), 0) from messages
        where tenant_id = ${tenantId} and session_id = ${id})::bigint as message,
      (select coalesce(max(arrival), 0) from executions
        where tenant_id = ${tenantId} and session_id = ${id})::bigint as execution`);
}

/** Rows with higher numbers, and calls that started later, came after the look. */
export interface LastRow {
  readonly message: number;
  readonly execution: number;
  readonly readAt: string;
}

interface Range {
  readonly after: number;
  readonly last: number;
}

/**
 * Deletes at most `rowsMax` messages in a range of numbers. Returns the number of the last one, or undefined at the end. Both
 * ends are numbers, so that each batch reads its own rows alone: with a list of numbers PostgreSQL reads the session whole.
 */
export async function forgetMessagesOfSession(
  tx: TenantTransaction,
  id: string,
  { after, last: end }: Range,
  rowsMax: number,
): Promise<number | undefined> {
  const { tenantId } = tx.scope;
  const [last] = await tx.anyFirst(sql.type(z.object({ number: z.number() }))`
    select number from messages where tenant_id = ${tenantId} and session_id = ${id} and number > ${after}
    order by number offset ${rowsMax - 1} limit 1`);
  await tx.query(sql.typeAlias('nothing')`
    delete from messages where tenant_id = ${tenantId} and session_id = ${id}
      and number > ${after} and number <= ${Math.min(last ?? end, end)}::bigint`);
  return last === undefined || last >= end ? undefined : last;
}

/**
 * Deletes ended executions after a place in the session's queue, with their steps, answers and inbox rows. Returns the
 * place of the last one, or undefined at the end.
 */
export async function forgetExecutionsOfSession(
  tx: TenantTransaction,
  id: string,
  { after, last: end }: Range,
  rowsMax: number,
): Promise<number | undefined> {
  const { tenantId } = tx.scope;
  const [last] = await tx.anyFirst(sql.type(z.object({ arrival: z.number() }))`
    select arrival from executions where tenant_id = ${tenantId} and session_id = ${id} and arrival > ${after}
    order by arrival offset ${rowsMax - 1} limit 1`);
  await tx.query(sql.typeAlias('nothing')`
    delete from executions where tenant_id = ${tenantId} and session_id = ${id} and outcome is not null
      and arrival > ${after} and arrival <= ${Math.min(last ?? end, end)}::bigint`);
  return last === undefined || last >= end ? undefined : last;
}

/** Another process goes on with the erasure once this time is over, unless it ended or was held on. */
const heldFor = sql.fragment`interval '2 minutes'`;

export async function holdErasure(tx: TenantTransaction, id: string, actor: string): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    insert into begun_erasures (tenant_id, session_id, actor, due_at)
    values (${tx.scope.tenantId}, ${id}, ${actor}, now() + ${heldFor})
    on conflict (tenant_id, session_id) do update set due_at = excluded.due_at`);
}

export async function endErasure(tx: TenantTransaction, id: string): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    delete from begun_erasures where tenant_id = ${tx.scope.tenantId} and session_id = ${id}`);
}

const begunErasure = z.object({ tenant_id: z.uuid(), session_id: z.uuid(), actor: z.string() });
export type BegunErasure = z.output<typeof begunErasure>;

/** An erasure whose process is gone, for this one to go on with. */
export function claimErasure(tx: DirectoryTransaction): Promise<BegunErasure | null> {
  return tx.maybeOne(sql.type(begunErasure)`
    update begun_erasures set due_at = now() + ${heldFor} where (tenant_id, session_id) in (
      select tenant_id, session_id from begun_erasures where due_at < now()
      order by due_at limit 1 for update skip locked)
    returning tenant_id, session_id, actor`);
}
