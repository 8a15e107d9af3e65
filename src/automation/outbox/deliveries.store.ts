import { z } from 'zod';
import type { Waiting } from '../messages/backlog.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Position } from '../../http/operations/index.js';
import { type ClaimedTable, claimHolders, claimingProcess, releaseClaims } from '../../infra/claims/index.js';
import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';

export const deliveryStatuses = ['pending', 'delivered', 'delivery_failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export interface NewDelivery {
  readonly id: string;
  readonly sessionId: string;
  readonly triggerId: string;
  readonly executionId: string | null;
  /** The prefix of its chunks' keys. */
  readonly key: string;
  readonly inboxSeq: number;
  readonly chunkTotal: number;
  readonly truncated: boolean;
  readonly sealed: Buffer;
}

/**
 * Returns false if the delivery of the execution or message exists already. `holdMs`: how long other nodes leave the
 * row alone while the caller sends.
 */
export async function insertDelivery(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  delivery: NewDelivery,
  holdMs = 0,
): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    insert into deliveries (tenant_id, id, session_id, trigger_id, execution_id, key, inbox_seq, chunk_total, truncated,
      sealed, due_at)
    values (${tenantId}, ${delivery.id}, ${delivery.sessionId}, ${delivery.triggerId}, ${delivery.executionId},
      ${delivery.key}, ${delivery.inboxSeq}, ${delivery.chunkTotal}, ${delivery.truncated},
      ${sql.binary(delivery.sealed)}, clock_timestamp() + ${holdMs} * interval '1 millisecond')
    on conflict do nothing`);
  return rowCount === 1;
}

/** Records a delivery that failed before its first attempt. Returns false if it exists already. */
export async function insertFailed(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  delivery: NewDelivery,
  reason: string,
): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    insert into deliveries (tenant_id, id, session_id, trigger_id, execution_id, key, inbox_seq, chunk_total, truncated,
      sealed, status, last_error, finished_at)
    values (${tenantId}, ${delivery.id}, ${delivery.sessionId}, ${delivery.triggerId}, ${delivery.executionId},
      ${delivery.key}, ${delivery.inboxSeq}, ${delivery.chunkTotal}, ${delivery.truncated},
      ${sql.binary(delivery.sealed)}, 'delivery_failed', ${reason}, clock_timestamp())
    on conflict do nothing`);
  return rowCount === 1;
}

export const claimedDelivery = z.object({
  id: z.uuid(),
  trigger_id: z.uuid(),
  session_id: z.uuid(),
  execution_id: z.uuid().nullable(),
  key: z.string(),
  chunk: z.number(),
  chunk_total: z.number(),
  attempts: z.number(),
  sealed: z.instanceof(Buffer),
  created_at: z.date(),
});

export type ClaimedDelivery = z.output<typeof claimedDelivery>;

const claimedColumns = sql.fragment`
  id, trigger_id, session_id, execution_id, key, chunk, chunk_total, attempts, sealed, created_at`;

/**
 * Claims the delivery regardless of those ahead of it. Null if another process has started this chunk or is past it.
 */
export function claimOne(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { id, chunk }: Pick<ClaimedDelivery, 'id' | 'chunk'>,
  holdMs: number,
): Promise<ClaimedDelivery | null> {
  return tx.maybeOne(sql.type(claimedDelivery)`
    update deliveries set attempts = attempts + 1, claimed_by = ${claimingProcess},
      due_at = clock_timestamp() + ${holdMs} * interval '1 millisecond'
    where tenant_id = ${tenantId} and id = ${id} and status = 'pending' and chunk = ${chunk} and attempts = 0
    returning ${claimedColumns}`);
}

/** Must be recorded before anything is sent. */
export async function beginAttempt(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { id, chunk, attempts }: ClaimedDelivery,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    insert into delivery_attempts (tenant_id, delivery_id, chunk, attempt)
    values (${tenantId}, ${id}, ${chunk}, ${attempts})`);
}

/**
 * Takes back an attempt that was recorded but not made, if the delivery is still at it: it counts for nothing. `heldMs`:
 * how much longer other nodes leave the delivery alone.
 */
export async function giveBackAttempt(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { id, chunk, attempts }: ClaimedDelivery,
  heldMs: number,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    with given as (
      update deliveries set attempts = attempts - 1, claimed_by = case when ${heldMs} > 0 then claimed_by end,
        due_at = clock_timestamp() + ${heldMs} * interval '1 millisecond'
      where tenant_id = ${tenantId} and id = ${id} and status = 'pending' and chunk = ${chunk}
        and attempts = ${attempts}
      returning tenant_id, id)
    delete from delivery_attempts a using given g
    where a.tenant_id = g.tenant_id and a.delivery_id = g.id and a.chunk = ${chunk} and a.attempt = ${attempts}
      and a.finished_at is null`);
}

export interface AttemptEnd {
  readonly statusCode: number | null;
  readonly error: string | null;
}

/** What follows an attempt. */
export type Next =
  /** `heldMs`: how much longer other nodes leave the chunk alone, since the caller will send it. */
  | { readonly step: 'chunk'; readonly inMs: number; readonly heldMs?: number }
  | { readonly step: 'again'; readonly inMs: number }
  | { readonly step: 'over'; readonly status: 'delivered' | 'delivery_failed' };

/** Whether an answer of the session is being sent: an attempt has begun, has not ended, and is within its time. */
export function isUnderWay(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  sessionId: string,
  attemptMs: number,
): Promise<boolean> {
  return tx.exists(sql.typeAlias('nothing')`
    select from deliveries d join delivery_attempts a on a.tenant_id = d.tenant_id and a.delivery_id = d.id
    where d.tenant_id = ${tenantId} and d.session_id = ${sessionId} and d.status = 'pending'
      and d.execution_id is not null and a.chunk = d.chunk and a.attempt = d.attempts and a.finished_at is null
      and a.started_at > clock_timestamp() - ${attemptMs} * interval '1 millisecond'`);
}

/** The claims on deliveries that are being sent. */
export const deliveryClaims: ClaimedTable = {
  holders: (tx) => claimHolders(tx, sql.fragment`deliveries`, sql.fragment`status = 'pending'`),
  release: (tx, gone) =>
    releaseClaims(tx, gone, {
      table: sql.fragment`deliveries`,
      keys: sql.fragment`tenant_id, id`,
      claimed: sql.fragment`status = 'pending'`,
      due: sql.fragment`due_at = least(due_at, clock_timestamp())`,
    }),
};

const dueLine = z.object({ tenant_id: z.uuid(), session_id: z.uuid() });

/** Sessions with overdue deliveries that no process holds: the longest waiting of each tenant first, then the next. */
export function dueSessions(
  tx: DirectoryTransaction,
  lateMs: number,
  rowsMax: number,
): Promise<readonly z.output<typeof dueLine>[]> {
  return tx.any(sql.type(dueLine)`
    with recursive waiting as (
      (select tenant_id from deliveries where status = 'pending' order by tenant_id limit 1)
      union all
      select (select d.tenant_id from deliveries d where d.status = 'pending' and d.tenant_id > t.tenant_id
        order by d.tenant_id limit 1)
      from waiting t where t.tenant_id is not null
    )
    select l.tenant_id, l.session_id from waiting t cross join lateral (
      select o.tenant_id, o.session_id, min(o.due_at) as due_at, row_number() over (order by min(o.due_at)) as turn
      from (
        select d.tenant_id, d.session_id, d.due_at from deliveries d
        where d.tenant_id = t.tenant_id and d.status = 'pending'
          and d.due_at <= clock_timestamp() - ${lateMs} * interval '1 millisecond'
        order by d.due_at limit ${rowsMax}) o
      group by o.tenant_id, o.session_id) l
    order by l.turn, l.due_at limit ${rowsMax}`);
}

const waitingRow = z.object({
  count: z.coerce.number(),
  oldest_ms: z.coerce.number(),
  overdue_ms: z.coerce.number(),
});

/** Deliveries of all tenants that are not made yet. Reads at most 10,000, so that a look is cheap in a great backlog too. */
export async function waitingDeliveries(tx: DirectoryTransaction): Promise<Waiting> {
  const {
    count,
    oldest_ms: oldestMs,
    overdue_ms: overdueMs,
  } = await tx.one(sql.type(waitingRow)`
    select count(*) as count,
      coalesce(greatest(0, extract(epoch from clock_timestamp() - min(created_at)) * 1000), 0)::float8 as oldest_ms,
      coalesce(greatest(0, extract(epoch from clock_timestamp() - min(due_at)) * 1000), 0)::float8 as overdue_ms
    from (select created_at, due_at from deliveries where status = 'pending' limit 10000) waiting`);
  return { count, oldestMs, overdueMs };
}

const deliveryRow = z.object({
  id: z.uuid(),
  execution_id: z.uuid().nullable(),
  trigger_id: z.uuid(),
  session_id: z.uuid(),
  status: z.enum(deliveryStatuses),
  chunk: z.number(),
  chunk_total: z.number(),
  attempts: z.number(),
  truncated: z.boolean(),
  last_status: z.number().nullable(),
  last_error: z.string().nullable(),
  created_at: z.date(),
  finished_at: z.date().nullable(),
});

export type DeliveryRow = z.output<typeof deliveryRow>;

const listedColumns = sql.fragment`
  id, execution_id, trigger_id, session_id, status, chunk, chunk_total, attempts, truncated, last_status, last_error,
  created_at, finished_at`;

export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly triggerId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly executionId?: string | undefined;
  readonly after?: Position | undefined;
  readonly limit: number;
}

/** Newest first. */
export function listDeliveries(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  filter: DeliveryFilter,
): Promise<readonly DeliveryRow[]> {
  const { status, triggerId, sessionId, executionId, after, limit } = filter;
  const conditions = [
    sql.fragment`tenant_id = ${tenantId}`,
    ...(status === undefined ? [] : [sql.fragment`status = ${status}`]),
    ...(triggerId === undefined ? [] : [sql.fragment`trigger_id = ${triggerId}`]),
    ...(sessionId === undefined ? [] : [sql.fragment`session_id = ${sessionId}`]),
    ...(executionId === undefined ? [] : [sql.fragment`execution_id = ${executionId}`]),
    ...(after === undefined
      ? []
      : [
          sql.fragment`(date_trunc('milliseconds', created_at), id) < (${sql.timestamp(after.at)}, ${after.id}::uuid)`,
        ]),
  ];
  return tx.any(sql.type(deliveryRow)`
    select ${listedColumns} from deliveries where ${sql.join(conditions, sql.fragment` and `)}
    order by date_trunc('milliseconds', created_at) desc, id desc limit ${limit}`);
}

/**
 * Retries from the failed chunk, with all attempts again. Null if no failed delivery has this id. `holdMs` as above.
 */
export function reviveDelivery(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
  holdMs = 0,
): Promise<DeliveryRow | null> {
  return tx.maybeOne(sql.type(deliveryRow)`
    update deliveries set status = 'pending', finished_at = null, attempts = 0, claimed_by = ${claimingProcess},
      due_at = clock_timestamp() + ${holdMs} * interval '1 millisecond'
    where tenant_id = ${tenantId} and id = ${id} and status = 'delivery_failed' returning ${listedColumns}`);
}

export function findDelivery(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<DeliveryRow | null> {
  return tx.maybeOne(sql.type(deliveryRow)`
    select ${listedColumns} from deliveries where tenant_id = ${tenantId} and id = ${id}`);
}

/** The sealed content of a delivery. */
export function contentOf({ tenantId }: TenantScope, tx: TenantTransaction, id: string): Promise<Buffer> {
  return tx.oneFirst(sql.type(z.object({ sealed: z.instanceof(Buffer) }))`
    select sealed from deliveries where tenant_id = ${tenantId} and id = ${id}`);
}

const truncatedRow = z.object({ execution_id: z.uuid(), truncated: z.boolean() });

/** Whether text of the executions' answers was dropped; an execution without a delivery is left out. */
export async function truncatedAnswers(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  executionIds: readonly string[],
): Promise<ReadonlyMap<string, boolean>> {
  const rows = await tx.any(sql.type(truncatedRow)`
    select execution_id, truncated from deliveries
    where tenant_id = ${tenantId} and execution_id = any(${sql.array([...executionIds], 'uuid')})`);
  return new Map(rows.map(({ execution_id, truncated }) => [execution_id, truncated]));
}

const attemptRow = z.object({
  chunk: z.number(),
  attempt: z.number(),
  status_code: z.number().nullable(),
  error: z.string().nullable(),
  started_at: z.date(),
});

export type AttemptRow = z.output<typeof attemptRow>;

/** Every attempt to send the answer of an execution, in order. */
export function attemptsOf(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  executionId: string,
): Promise<readonly AttemptRow[]> {
  return tx.any(sql.type(attemptRow)`
    select a.chunk, a.attempt, a.status_code, a.error, a.started_at
    from delivery_attempts a join deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
    where d.tenant_id = ${tenantId} and d.execution_id = ${executionId} order by a.number`);
}
