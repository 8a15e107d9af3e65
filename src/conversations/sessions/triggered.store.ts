/**
 * The executions of triggers, and what their senders and readers ask of sessions: statements for transactions of the
 * callers.
 */
import { z } from 'zod';
import type { Position } from '../../http/operations/index.js';
import {
  type FoundPage,
  foundPage,
  pageRows,
  sql,
  type TenantTransaction,
  withinTextBytes,
} from '../../infra/storage/index.js';
import { storableText } from '../../kernel/storable-text.js';
import type { Author } from '../invocation/index.js';

export interface RefusedExecution {
  readonly id: string;
  readonly agentId: string;
  readonly sessionId: string | null;
  readonly triggerId: string;
  readonly channel: string;
  readonly userId: string | null;
  readonly consumerKey: string | undefined;
  /** The other senders of a message that was joined from several. */
  readonly otherConsumers?: readonly string[];
  /** Whom the message names as its sender without proof. It is erased with that person, and is nobody's otherwise. */
  readonly claimedSender?: string;
  readonly message: string;
  readonly status: 'blocked' | 'failed';
  readonly error: { readonly code: string; readonly message: string } | null;
}

/**
 * Records an execution that ended before a session had it: a sender block applied, or no session accepted it. No actor
 * knows it, so no fence is needed. An execution that a session already knows stays unchanged. The time has milliseconds
 * like those of other executions: a page goes on from a place of milliseconds, and the index that serves the order of pages
 * knows no cut ones.
 */
export async function recordRefused(tx: TenantTransaction, execution: RefusedExecution): Promise<void> {
  const author = authorOf(execution);
  const input = {
    message: storableText(execution.message),
    ...(author === undefined ? {} : { author }),
    ...(execution.claimedSender === undefined
      ? {}
      : { claimed_sender: storableText(execution.claimedSender) }),
    declared_context: null,
    accepted_fields: [],
    ignored_fields: [],
    quick_replies: false,
    role: 'owner',
    needs_bindings: false,
  };
  const error =
    execution.error === null ? null : { ...execution.error, message: storableText(execution.error.message) };
  await tx.query(sql.typeAlias('nothing')`
    insert into executions (tenant_id, id, session_id, agent_id, trigger_id, slot, arrival, channel, user_id, status,
      outcome, due_at, input, error, latency_ms, created_at, finished_at)
    values (${tx.scope.tenantId}, ${execution.id}, ${execution.sessionId}, ${execution.agentId}, ${execution.triggerId},
      0, 0, ${execution.channel}, ${execution.userId}, ${execution.status},
      ${execution.status === 'blocked' ? 'BLOCKED' : 'FAILED'}, clock_timestamp(), ${JSON.stringify(input)}::jsonb,
      ${error === null ? null : JSON.stringify(error)}::jsonb, 0,
      date_trunc('milliseconds', clock_timestamp()), date_trunc('milliseconds', clock_timestamp()))
    on conflict (tenant_id, id) do nothing`);
}

/** The senders, for erasure. Undefined if no consumer is known. */
function authorOf({ consumerKey, otherConsumers = [], triggerId }: RefusedExecution): Author | undefined {
  if (consumerKey === undefined && otherConsumers.length === 0) return undefined;
  const others = otherConsumers.length === 0 ? {} : { others: otherConsumers.map(storableText) };
  return consumerKey === undefined
    ? { kind: 'trigger', id: triggerId, ...others }
    : { kind: 'consumer', id: storableText(consumerKey), ...others };
}

/** The columns of a delivery are none of the actor's: the outbox sets them, also by set_delivery_statuses(). */
export async function setDelivery(
  tx: TenantTransaction,
  executionId: string,
  status: 'pending' | 'delivered' | 'delivery_failed',
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update executions set delivery_status = ${status}
    where tenant_id = ${tx.scope.tenantId} and id = ${executionId}`);
}

export async function setAnswerCut(tx: TenantTransaction, executionId: string): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update executions set answer_cut = true where tenant_id = ${tx.scope.tenantId} and id = ${executionId}`);
}

/** The trigger of the session's last triggered message; null if there is none. */
export function lastTriggerOf(tx: TenantTransaction, sessionId: string): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(z.object({ trigger_id: z.uuid() }))`
    select trigger_id from executions
    where tenant_id = ${tx.scope.tenantId} and session_id = ${sessionId} and trigger_id is not null
    order by created_at desc limit 1`);
}

export function hasSession(
  tx: TenantTransaction,
  id: string,
  consumerKey: string | undefined,
): Promise<boolean> {
  const isTheirs =
    consumerKey === undefined ? sql.fragment`true` : sql.fragment`consumer_key = ${consumerKey}`;
  return tx.oneFirst(sql.type(z.object({ is_there: z.boolean() }))`
    select exists (
      select from sessions where tenant_id = ${tx.scope.tenantId} and id = ${id} and ${isTheirs}) as is_there`);
}

/** When the message became part of the conversation; null if it is none of it. */
export function messageWrittenAt(tx: TenantTransaction, sessionId: string, id: string): Promise<Date | null> {
  return tx.maybeOneFirst(sql.type(z.object({ created_at: z.date() }))`
    select created_at from messages
    where tenant_id = ${tx.scope.tenantId} and session_id = ${sessionId} and id = ${id}`);
}

const triggeredRow = z.object({
  id: z.uuid(),
  trigger_id: z.uuid(),
  agent_id: z.uuid(),
  session_id: z.uuid().nullable(),
  status: z.string(),
  outcome: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  input: z.looseObject({
    message: z.string(),
    declared_context: z.record(z.string(), z.unknown()).nullish(),
  }),
  output: z.string().nullable(),
  usage: z.record(z.string(), z.unknown()).nullable(),
  cost: z.number(),
  model: z.string().nullable(),
  provider: z.string().nullable(),
  latency_ms: z.number().nullable(),
  delivery_status: z.enum(['none', 'pending', 'delivered', 'delivery_failed']),
  answer_cut: z.boolean(),
  created_at: z.date(),
  started_at: z.date().nullable(),
  finished_at: z.date().nullable(),
});
export type TriggeredExecution = z.output<typeof triggeredRow>;

const columns = sql.fragment`
  id, trigger_id, agent_id, session_id, status, outcome, error, input, output, usage, cost, model, provider,
  latency_ms, delivery_status, answer_cut, created_at, started_at, finished_at`;

/** One page of the executions of a trigger, of every status or of one. */
export interface TriggeredPage {
  readonly status?: string | undefined;
  readonly after?: Position | undefined;
  readonly limit: number;
}

/** Newest first. */
export async function listTriggered(
  tx: TenantTransaction,
  triggerId: string,
  { status, after, limit }: TriggeredPage,
): Promise<FoundPage<TriggeredExecution>> {
  const conditions = [
    sql.fragment`tenant_id = ${tx.scope.tenantId} and trigger_id = ${triggerId}`,
    ...(status === undefined ? [] : [sql.fragment`status = ${status}`]),
    ...(after === undefined
      ? []
      : [
          sql.fragment`(date_trunc('milliseconds', created_at), id) < (${sql.timestamp(after.at)}, ${after.id}::uuid)`,
        ]),
  ];
  const newestFirst = sql.fragment`date_trunc('milliseconds', created_at) desc, id desc`;
  const page = sql.fragment`
    select ${columns}, coalesce(octet_length(output), 0) + coalesce(octet_length(input ->> 'message'), 0) as text_bytes
    from executions where ${sql.join(conditions, sql.fragment` and `)} order by ${newestFirst} limit ${limit + 1}`;
  const rows = await tx.any(sql.type(triggeredRow.extend(pageRows))`${withinTextBytes(page, newestFirst)}`);
  return foundPage(rows, limit);
}

export function findTriggered(
  tx: TenantTransaction,
  triggerId: string,
  id: string,
): Promise<TriggeredExecution | null> {
  return tx.maybeOne(sql.type(triggeredRow)`
    select ${columns} from executions
    where tenant_id = ${tx.scope.tenantId} and trigger_id = ${triggerId} and id = ${id}`);
}

const counts = z.object({
  total: z.number(),
  completed: z.number(),
  failed: z.number(),
  timeout: z.number(),
  last_24h: z.number(),
  avg_latency_ms: z.number().nullable(),
});

/** Of one trigger, or of all. */
const isTimed = sql.fragment`status in ('completed', 'timeout') and latency_ms is not null`;
const sinceSums = sql.fragment`count(*) as total, count(*) filter (where status = 'completed') as completed,
  count(*) filter (where status = 'failed') as failed, count(*) filter (where status = 'timeout') as timeout`;

/** As text, since a Date holds no microseconds. */
const span = z.object({
  until: z.string().nullable(),
  is_due: z.boolean().nullable(),
  days: z.number(),
});

/** From the totals and the executions since, which are at most a few hours old. */
export function countTriggered(tx: TenantTransaction, triggerId?: string): Promise<z.output<typeof counts>> {
  const { tenantId } = tx.scope;
  const those =
    triggerId === undefined ? sql.fragment`trigger_id is not null` : sql.fragment`trigger_id = ${triggerId}`;
  return tx.one(sql.type(counts)`
    with summed as (
      select coalesce(max(summed_to), '-infinity') as until from triggered_until where tenant_id = ${tenantId}
    ),
    facts as (
      select total, completed, failed, timeout, 0 as last_24h, latency_ms, timed from triggered_totals
      where tenant_id = ${tenantId} and ${those}
      union all
      select ${sinceSums}, 0, sum(latency_ms) filter (where ${isTimed}), count(*) filter (where ${isTimed})
      from executions
      where tenant_id = ${tenantId} and ${those} and created_at >= (select until from summed)
      union all
      select 0, 0, 0, 0, count(*), 0, 0 from executions
      where tenant_id = ${tenantId} and ${those} and created_at > now() - interval '24 hours'
    )
    select coalesce(sum(total), 0)::int8 as total, coalesce(sum(completed), 0)::int8 as completed,
      coalesce(sum(failed), 0)::int8 as failed, coalesce(sum(timeout), 0)::int8 as timeout,
      coalesce(sum(last_24h), 0)::int8 as last_24h, (sum(latency_ms) / nullif(sum(timed), 0))::float8 as avg_latency_ms
    from facts`);
}

/** Executions of this long ago are committed. */
const settled = sql.fragment`interval '1 hour'`;

/**
 * Adds finished executions of the next days to the totals; returns how many days it went on, less than `daysMax` at the
 * end. Processes that sum at once take turns.
 */
export async function sumTriggered(tx: TenantTransaction, daysMax: number): Promise<number> {
  const { tenantId } = tx.scope;
  await tx.query(sql.typeAlias('nothing')`
    insert into triggered_until values (${tenantId}, '-infinity') on conflict do nothing`);
  await tx.query(sql.typeAlias('nothing')`
    select from triggered_until where tenant_id = ${tenantId} for update`);
  // Until the first one that may still change.
  const next = await tx.one(sql.type(span)`
    with summed as (select summed_to from triggered_until where tenant_id = ${tenantId}),
    bounds as (
      select (
        select min(created_at) from executions
        where tenant_id = ${tenantId} and created_at >= (select summed_to from summed)
      ) as since,
      least(now() - ${settled}, (
        select min(created_at) from executions where tenant_id = ${tenantId} and outcome is null
      )) as until
    )
    select until::text, coalesce(ceil(extract(epoch from until - since) / 86400), 0)::int as days,
      until > since as is_due
    from (select since, least(until, since + ${daysMax} * interval '24 hours') as until from bounds) bounded`);
  if (next.until === null || next.is_due !== true) return 0;
  const until = sql.fragment`${next.until}::timestamptz`;
  await tx.query(sql.typeAlias('nothing')`
    insert into triggered_totals as t (tenant_id, trigger_id, total, completed, failed, timeout, latency_ms, timed)
    select ${tenantId}::uuid, trigger_id, ${sinceSums}, coalesce(sum(latency_ms) filter (where ${isTimed}), 0),
      count(*) filter (where ${isTimed})
    from executions
    where tenant_id = ${tenantId} and trigger_id is not null and created_at < ${until}
      and created_at >= (select summed_to from triggered_until where tenant_id = ${tenantId})
    group by trigger_id order by trigger_id
    on conflict (tenant_id, trigger_id) do update set
      total = t.total + excluded.total, completed = t.completed + excluded.completed, failed = t.failed + excluded.failed,
      timeout = t.timeout + excluded.timeout, latency_ms = t.latency_ms + excluded.latency_ms,
      timed = t.timed + excluded.timed`);
  await tx.query(sql.typeAlias('nothing')`
    update triggered_until set summed_to = ${until} where tenant_id = ${tenantId}`);
  return next.days;
}
