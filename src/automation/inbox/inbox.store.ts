import { z } from 'zod';
import type { Waiting } from '../messages/backlog.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  type DirectoryTransaction,
  type HotReads,
  type HotStatement,
  sql,
  type TenantTransaction,
} from '../../infra/storage/index.js';
import { type ClaimedTable, claimHolders, claimingProcess, releaseClaims } from '../../infra/claims/index.js';
import { senderResponse, type SenderResponse } from '../messages/sender-response.js';
import { executionsOfBuffer } from './split.store.js';

const inboxRow = z.object({
  trigger_id: z.uuid(),
  key: z.string(),
  seq: z.coerce.number(),
  session_id: z.uuid(),
  execution_id: z.uuid().nullable(),
  state: z.enum(['buffered', 'merged', 'running', 'done']),
  payload_hash: z.string(),
  sealed: z.instanceof(Buffer),
  answer: senderResponse.nullable(),
  /** A message with its key counts as new. */
  is_over: z.boolean(),
});

export type InboxRow = z.output<typeof inboxRow>;

/** Kept no longer. The messages of a buffer are the text of their execution, which may wait for a person for days. */
const isOver = sql.fragment`i.expires_at <= clock_timestamp() and (i.state = 'done' or i.state = 'merged' and not exists (
  select from trigger_inbox r
  where r.tenant_id = i.tenant_id and r.execution_id = i.execution_id and r.state = 'running'))`;

const byKey: HotStatement<InboxRow> = {
  name: 'trigger_inbox_by_key',
  text: `select trigger_id, key, seq, session_id, execution_id, state, payload_hash, sealed, answer,
      ${isOver.sql} as is_over
    from trigger_inbox i where tenant_id = $1 and trigger_id = $2 and key = $3`,
  row: inboxRow,
};

/** The row of the message with this key. */
export async function findByKey(
  reads: Pick<HotReads, 'inTenant'>,
  scope: TenantScope,
  triggerId: string,
  key: string,
): Promise<InboxRow | undefined> {
  const [found] = await reads.inTenant(scope, byKey, [scope.tenantId, triggerId, key]);
  return found;
}

/** Which of the keys belong to messages that were accepted before and are still kept. */
export async function knownKeys(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const rows = await tx.any(sql.type(z.object({ key: z.string() }))`
    select key from trigger_inbox
    where tenant_id = ${tenantId} and trigger_id = ${triggerId} and key = any(${sql.array([...keys], 'text')})`);
  return new Set(rows.map(({ key }) => key));
}

/** The position of a message in its buffer, which may have become several executions, as reported to its sender. */
export async function placeInBuffer(
  scope: TenantScope,
  tx: TenantTransaction,
  row: InboxRow,
): Promise<number> {
  const known = row.state === 'merged' ? await executionsOfBuffer(scope, tx, row) : [];
  return tx.oneFirst(sql.typeAlias('count')`
    select count(*) as count from trigger_inbox
    where tenant_id = ${scope.tenantId} and trigger_id = ${row.trigger_id} and session_id = ${row.session_id}
      and state = ${row.state} and seq <= ${row.seq} and (execution_id is not distinct from ${row.execution_id}
        or execution_id = any(${sql.array([...known], 'uuid')}))`);
}

const waitingRow = z.object({
  count: z.coerce.number(),
  oldest_ms: z.coerce.number(),
  overdue_ms: z.coerce.number(),
});

/** Messages of all tenants that have not ended. Reads at most 10,000, so that a look is cheap in a great backlog too. */
export async function waitingMessages(tx: DirectoryTransaction): Promise<Waiting> {
  const {
    count,
    oldest_ms: oldestMs,
    overdue_ms: overdueMs,
  } = await tx.one(sql.type(waitingRow)`
    select count(*) as count,
      coalesce(greatest(0, extract(epoch from clock_timestamp() - min(created_at)) * 1000), 0)::float8 as oldest_ms,
      coalesce(greatest(0, extract(epoch from clock_timestamp() - min(due_at)) * 1000), 0)::float8 as overdue_ms
    from (select created_at, due_at from trigger_inbox where state = 'running' limit 10000) waiting`);
  return { count, oldestMs, overdueMs };
}

/** Deletes a row whose retention has passed, so that its key can be used again. */
export async function deleteExpired(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  key: string,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    delete from trigger_inbox i
    where tenant_id = ${tenantId} and trigger_id = ${triggerId} and key = ${key} and ${isOver}`);
}

/** Ends a message that this process gives up. Returns false if another process has claimed it since. */
export async function endIfHeld(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  row: Pick<InboxRow, 'trigger_id' | 'key'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update trigger_inbox set state = 'done'
    where tenant_id = ${tenantId} and trigger_id = ${row.trigger_id} and key = ${row.key} and state = 'running'
      and claimed_by is not distinct from ${claimingProcess}`);
  return rowCount === 1;
}

export async function markDone(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  row: Pick<InboxRow, 'trigger_id' | 'key'>,
  kept: SenderResponse | undefined,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update trigger_inbox set state = 'done',
      answer = coalesce(${kept === undefined ? null : JSON.stringify(kept)}::jsonb, answer)
    where tenant_id = ${tenantId} and trigger_id = ${row.trigger_id} and key = ${row.key} and state = 'running'`);
}

/**
 * Reschedules a message that its session did not accept, without counting an attempt. Does nothing if another process
 * has claimed it since.
 */
export async function reschedule(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  row: Pick<InboxRow, 'trigger_id' | 'key'>,
  pauseMs: number,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update trigger_inbox set attempts = greatest(0, attempts - 1), claimed_by = null,
      due_at = clock_timestamp() + ${pauseMs} * interval '1 millisecond'
    where tenant_id = ${tenantId} and trigger_id = ${row.trigger_id} and key = ${row.key} and state = 'running'
      and claimed_by is not distinct from ${claimingProcess}`);
}

/** The position of a running message of this execution that this process claims; null if there is none. */
export function ownPlace(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  row: Pick<InboxRow, 'trigger_id' | 'key'>,
  executionId: string,
): Promise<number | null> {
  return tx.maybeOneFirst(sql.type(z.object({ seq: z.coerce.number() }))`
    select seq from trigger_inbox
    where tenant_id = ${tenantId} and trigger_id = ${row.trigger_id} and key = ${row.key} and state = 'running'
      and execution_id = ${executionId} and claimed_by is not distinct from ${claimingProcess}`);
}

/** Deletes a message that was refused after it was written, so that its sender may send it again. */
export async function deleteRefused(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  row: Pick<InboxRow, 'trigger_id' | 'key'>,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    delete from trigger_inbox
    where tenant_id = ${tenantId} and trigger_id = ${row.trigger_id} and key = ${row.key} and state = 'running'`);
}

const sealedParts = sql.fragment`case when i.sealed <> '' then array[i.sealed] else array(
  select p.sealed from trigger_inbox p
  where p.tenant_id = i.tenant_id and p.execution_id = i.execution_id and p.state = 'merged' order by p.seq) end`;

/** The sealed payloads that a row runs: its own or, for a buffer, those of its messages. */
export const partsOf: ReturnType<typeof sql.fragment> = sql.fragment`${sealedParts} as parts`;

/**
 * Whether an older message of its session has not reached it, on whichever node it waits. A turn that the session has is
 * behind none. With the limits each execution is looked up by its key; otherwise a plan could read all of the tenant.
 */
const isBehind = sql.fragment`(
    select e.id from known_executions e where e.tenant_id = i.tenant_id and e.id = i.execution_id limit 1) is null
  and exists (
    select from trigger_inbox o
    where o.session_id = i.session_id and (o.tenant_id = i.tenant_id) is true and o.state = 'running' and o.seq < i.seq and (
      select e.id from known_executions e where e.tenant_id = o.tenant_id and e.id = o.execution_id limit 1) is null)`;

const ownRow = z.object({ is_behind: z.boolean(), parts: z.array(z.instanceof(Buffer)) });

export type OwnMessage = z.output<typeof ownRow>;

/**
 * A running message of this execution that this process claims, with its payloads unless it is behind another;
 * undefined if there is none.
 */
export async function ownMessage(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  row: Pick<InboxRow, 'trigger_id' | 'key'>,
  executionId: string,
  inAnyOrder: boolean,
): Promise<OwnMessage | undefined> {
  const own = await tx.maybeOne(sql.type(ownRow)`
    select b.is_behind, case when b.is_behind then '{}'::bytea[] else ${sealedParts} end as parts
    from trigger_inbox i
      cross join lateral (select not ${inAnyOrder}::boolean and ${isBehind} as is_behind offset 0) b
    where i.tenant_id = ${tenantId} and i.trigger_id = ${row.trigger_id} and i.key = ${row.key} and i.state = 'running'
      and i.execution_id = ${executionId} and i.claimed_by is not distinct from ${claimingProcess}`);
  return own ?? undefined;
}

const claimedRow = z.object({
  tenant_id: z.uuid(),
  trigger_id: z.uuid(),
  key: z.string(),
  seq: z.coerce.number(),
  session_id: z.uuid(),
  execution_id: z.uuid(),
  attempts: z.number(),
  age_ms: z.number(),
});

export type ClaimedRow = z.output<typeof claimedRow>;

/**
 * Claims rows that no process holds, and counts the attempt before it is made: the oldest row of each tenant first,
 * then the next of each. Returns no payloads: those of a hundred buffers may be more than the memory of a process, and
 * one tenant must not hold up the claims of all.
 */
export function claimLeftBehind(
  tx: DirectoryTransaction,
  holdMs: number,
  rowsMax: number,
): Promise<readonly ClaimedRow[]> {
  return tx.any(sql.type(claimedRow)`
    with recursive waiting as (
      (select tenant_id from trigger_inbox where state = 'running' order by tenant_id limit 1)
      union all
      -- Step from tenant to tenant: the index is read once per tenant, however many rows the tenants have.
      select (select i.tenant_id from trigger_inbox i where i.state = 'running' and i.tenant_id > t.tenant_id
        order by i.tenant_id limit 1)
      from waiting t where t.tenant_id is not null
    ), due as (
      select d.* from waiting t cross join lateral (
        select i.tenant_id, i.trigger_id, i.key, i.due_at, row_number() over (order by i.due_at) as turn
        from trigger_inbox i
        where i.tenant_id = t.tenant_id and i.state = 'running' and i.due_at <= clock_timestamp()
        order by i.due_at limit ${rowsMax}) d
      order by d.turn, d.due_at limit ${rowsMax}
    )
    update trigger_inbox i set attempts = attempts + 1, claimed_by = ${claimingProcess}, due_at = clock_timestamp() + ${holdMs} * interval '1 millisecond'
    where (tenant_id, trigger_id, key) in (
      select r.tenant_id, r.trigger_id, r.key from due join trigger_inbox r using (tenant_id, trigger_id, key)
      where r.state = 'running' and r.due_at <= clock_timestamp()
      for update of r skip locked)
    returning tenant_id, trigger_id, key, seq, session_id, execution_id, attempts,
      (extract(epoch from clock_timestamp() - created_at) * 1000)::float8 as age_ms`);
}

/** Extends the claims on rows that run here and that no other process has claimed since. */
export async function renewClaims(
  tx: DirectoryTransaction,
  executionIds: readonly string[],
  holdMs: number,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update trigger_inbox set due_at = clock_timestamp() + ${holdMs} * interval '1 millisecond'
    where (tenant_id, trigger_id, key) in (
      select tenant_id, trigger_id, key from trigger_inbox
      where state = 'running' and execution_id = any(${sql.array([...executionIds], 'uuid')})
        and claimed_by is not distinct from ${claimingProcess}
      -- A locked row is being finished in a batch that must not wait for this.
      for update skip locked)`);
}

/** Gives the claims of this process to the others, which then count no lost process, except those on `kept` executions. */
export async function releaseOwnClaims(
  tx: DirectoryTransaction,
  kept: readonly string[] = [],
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update trigger_inbox set claimed_by = null, due_at = clock_timestamp(), attempts = greatest(0, attempts - 1)
    where (tenant_id, trigger_id, key) in (
      select tenant_id, trigger_id, key from trigger_inbox
      where state = 'running' and claimed_by = ${claimingProcess}
        and not execution_id = any(${sql.array([...kept], 'uuid')})
      for update skip locked)`);
}

const messageKeys = sql.fragment`tenant_id, trigger_id, key`;

/** The claims on messages that run. */
export const messageClaims: ClaimedTable = {
  holders: (tx) => claimHolders(tx, sql.fragment`trigger_inbox`, sql.fragment`state = 'running'`),
  release: (tx, gone) =>
    releaseClaims(tx, gone, {
      table: sql.fragment`trigger_inbox`,
      keys: messageKeys,
      claimed: sql.fragment`state = 'running'`,
      due: sql.fragment`due_at = clock_timestamp()`,
    }),
};

export async function deleteOld(tx: DirectoryTransaction, rowsMax: number): Promise<number> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    delete from trigger_inbox where (tenant_id, trigger_id, key) in (
      select tenant_id, trigger_id, key from trigger_inbox i
      where state in ('done', 'merged') and ${isOver} limit ${rowsMax}
      for update of i skip locked)`);
  return rowCount;
}
