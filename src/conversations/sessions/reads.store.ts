import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  type FoundPage,
  foundPage,
  type HotReads,
  type HotStatement,
  pageRows,
  sql,
  type TenantTransaction,
  withinTextBytes,
} from '../../infra/storage/index.js';
import { attachmentShape } from '../attachments/index.js';
import { authorKinds, outcomes } from '../invocation/index.js';
import { searchSessions } from './session-search.store.js';

/** The queries of the endpoints. Only the actor writes. */

/** A session ends after this time without a message; the next message reopens it. */
const endedAfter = sql.fragment`interval '24 hours'`;

const sessionRow = z.object({
  id: z.uuid(),
  agent_id: z.uuid(),
  consumer_key: z.string().nullable(),
  consumer_display_name: z.string().nullable(),
  channel: z.string(),
  metadata: z.record(z.string(), z.unknown()),
  control_mode: z.enum(['engaged', 'manual_handoff']),
  control_kind: z.enum(['suspend', 'handoff']).nullable(),
  control_reason: z.string().nullable(),
  control_by: z.string().nullable(),
  control_since: z.date().nullable(),
  control_expires_at: z.date().nullable(),
  total_turns: z.number(),
  created_at: z.date(),
  last_interaction: z.date(),
  ended_at: z.date().nullable(),
  awaits_approval: z.boolean(),
});
export type ReadSession = z.output<typeof sessionRow>;

const isAwaited = sql.fragment`exists (select from approvals a
    where a.tenant_id = s.tenant_id and a.session_id = s.id and a.status = 'pending')`;

const sessionColumns = sql.fragment`
  s.id, s.agent_id, s.consumer_key, s.consumer_display_name, s.channel, s.metadata, s.control_mode, s.control_kind,
  s.control_reason, s.control_by, s.control_since, s.control_expires_at, s.total_turns, s.created_at,
  s.last_interaction,
  case when s.last_interaction + ${endedAfter} <= now() then s.last_interaction + ${endedAfter} end as ended_at,
  ${isAwaited} as awaits_approval`;

export interface Page {
  readonly limit: number;
  readonly after: { readonly at: Date; readonly id: string } | undefined;
}

export interface Span {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

export interface SessionFilter extends Page, Span {
  readonly controlMode?: string | undefined;
  readonly consumerKey?: string | undefined;
  readonly agentId?: string | undefined;
  readonly channel?: string | undefined;
  readonly ended?: boolean | undefined;
  readonly awaitsApproval?: boolean | undefined;
  /** Words that one message of the session has. */
  readonly search?: string | undefined;
}

export function findSession(
  scope: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<ReadSession | null> {
  return tx.maybeOne(sql.type(sessionRow)`
    select ${sessionColumns} from sessions s where s.tenant_id = ${scope.tenantId} and s.id = ${id}`);
}

/** Sessions of the person, and those with others. An array, so that PostgreSQL joins two indexes instead of reading all. */
function isOf({ tenantId }: TenantScope, consumerKey: string): ReturnType<typeof sql.fragment> {
  return sql.fragment`(s.consumer_key = ${consumerKey} or s.id = any(array(
    select p.session_id from session_participants p
    where p.tenant_id = ${tenantId} and p.consumer_key = ${consumerKey})))`;
}

/** The conditions on a session `s`, except for its words. */
function conditionsOf(
  scope: TenantScope,
  {
    after,
    controlMode,
    consumerKey,
    agentId,
    channel,
    ended,
    awaitsApproval,
    from,
    to,
  }: Omit<SessionFilter, 'limit'>,
) {
  return [
    sql.fragment`s.tenant_id = ${scope.tenantId}`,
    ...(controlMode === undefined ? [] : [sql.fragment`s.control_mode = ${controlMode}`]),
    ...(consumerKey === undefined ? [] : [isOf(scope, consumerKey)]),
    ...(agentId === undefined ? [] : [sql.fragment`s.agent_id = ${agentId}`]),
    ...(channel === undefined ? [] : [sql.fragment`s.channel = ${channel}`]),
    ...(ended === undefined ? [] : [sql.fragment`(s.last_interaction <= now() - ${endedAfter}) = ${ended}`]),
    ...(awaitsApproval === undefined ? [] : [sql.fragment`${isAwaited} = ${awaitsApproval}`]),
    ...(from === undefined ? [] : [sql.fragment`s.last_interaction >= ${from.toISOString()}::timestamptz`]),
    ...(to === undefined ? [] : [sql.fragment`s.last_interaction < ${to.toISOString()}::timestamptz`]),
    ...(after === undefined
      ? []
      : [
          sql.fragment`(s.last_interaction, s.id) < (${after.at.toISOString()}::timestamptz, ${after.id}::uuid)`,
        ]),
  ];
}

/** Newest first; one row more than the page holds shows whether there is another page. */
export async function listSessions(
  scope: TenantScope,
  tx: TenantTransaction,
  filter: SessionFilter,
): Promise<readonly ReadSession[]> {
  const conditions = conditionsOf(scope, filter);
  if (filter.search !== undefined) {
    const found = await searchSessions(tx, conditions, filter.search, filter.limit + 1);
    conditions.push(sql.fragment`s.id = any(${sql.array(found, 'uuid')})`);
  }
  return tx.any(sql.type(sessionRow)`
    select ${sessionColumns} from sessions s where ${sql.join(conditions, sql.fragment` and `)}
    order by s.last_interaction desc, s.id desc limit ${filter.limit + 1}`);
}

/** All sessions of the tenant, by id. */
export function walkSessions(
  tx: TenantTransaction,
  { from, to }: Span,
  after: string | undefined,
  limit: number,
): Promise<readonly ReadSession[]> {
  const conditions = [
    sql.fragment`s.tenant_id = ${tx.scope.tenantId}`,
    ...(from === undefined ? [] : [sql.fragment`s.last_interaction >= ${from.toISOString()}::timestamptz`]),
    ...(to === undefined ? [] : [sql.fragment`s.last_interaction < ${to.toISOString()}::timestamptz`]),
    ...(after === undefined ? [] : [sql.fragment`s.id > ${after}::uuid`]),
  ];
  return tx.any(sql.type(sessionRow)`
    select ${sessionColumns} from sessions s where ${sql.join(conditions, sql.fragment` and `)}
    order by s.id limit ${limit}`);
}

const messageRow = z.object({
  number: z.number(),
  id: z.uuid(),
  role: z.enum(['user', 'assistant']),
  author: z.object({ kind: z.enum(authorKinds), id: z.string() }).nullable(),
  content: z.string(),
  attachments: z.array(attachmentShape),
  declared_context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).nullable(),
  metadata: z.record(z.string(), z.unknown()),
  execution_id: z.uuid().nullable(),
  created_at: z.date(),
});
export type ReadMessage = z.output<typeof messageRow>;

const messageColumns = sql.fragment`
  m.number, m.id, m.role, m.author, m.content, m.attachments, m.declared_context, m.metadata, m.execution_id, m.created_at,
  octet_length(m.content) as text_bytes`;

/** Oldest first, after the given number. */
export async function listMessages(
  scope: TenantScope,
  tx: TenantTransaction,
  sessionId: string,
  after: number,
  limit: number,
): Promise<FoundPage<ReadMessage>> {
  const page = sql.fragment`
    select ${messageColumns} from messages m
    where m.tenant_id = ${scope.tenantId} and m.session_id = ${sessionId} and m.number > ${after}
    order by m.number limit ${limit + 1}`;
  const rows = await tx.any(
    sql.type(messageRow.extend(pageRows))`${withinTextBytes(page, sql.fragment`number`)}`,
  );
  return foundPage(rows, limit);
}

const exportedMessage = messageRow.extend({ session_id: z.uuid() });
export type ExportedMessage = z.output<typeof exportedMessage>;

/** All messages of the tenant, in the order of the primary key: a walk over the whole table needs no other index. */
export async function walkMessages(
  tx: TenantTransaction,
  { from, to }: Span,
  after: { readonly sessionId: string; readonly number: number } | undefined,
  limit: number,
): Promise<FoundPage<ExportedMessage>> {
  const conditions = [
    sql.fragment`m.tenant_id = ${tx.scope.tenantId}`,
    ...(from === undefined ? [] : [sql.fragment`m.created_at >= ${from.toISOString()}::timestamptz`]),
    ...(to === undefined ? [] : [sql.fragment`m.created_at < ${to.toISOString()}::timestamptz`]),
    ...(after === undefined
      ? []
      : [sql.fragment`(m.session_id, m.number) > (${after.sessionId}::uuid, ${after.number}::bigint)`]),
  ];
  const page = sql.fragment`
    select m.session_id, ${messageColumns} from messages m where ${sql.join(conditions, sql.fragment` and `)}
    order by m.session_id, m.number limit ${limit + 1}`;
  const rows = await tx.any(
    sql.type(exportedMessage.extend(pageRows))`${withinTextBytes(page, sql.fragment`session_id, number`)}`,
  );
  return foundPage(rows, limit);
}

/** The messages right before a number, newest first. */
export async function listMessagesBefore(
  scope: TenantScope,
  tx: TenantTransaction,
  sessionId: string,
  before: number,
  limit: number,
): Promise<FoundPage<ReadMessage>> {
  const page = sql.fragment`
    select ${messageColumns} from messages m
    where m.tenant_id = ${scope.tenantId} and m.session_id = ${sessionId} and m.number < ${before}
    order by m.number desc limit ${limit + 1}`;
  const rows = await tx.any(
    sql.type(messageRow.extend(pageRows))`${withinTextBytes(page, sql.fragment`number desc`)}`,
  );
  return foundPage(rows, limit);
}

/** The delivery status of the answer; `none` if it is not delivered anywhere. */
export const deliveryStatuses = ['none', 'pending', 'delivered', 'delivery_failed'] as const;

const flat = z.record(z.string(), z.unknown());

/** Why a turn failed. `details` of an error of another service: which one, and what it answered. */
export const executionError = z.object({ code: z.string(), message: z.string(), details: flat.optional() });

const executionRow = z.object({
  id: z.uuid(),
  agent_id: z.uuid(),
  session_id: z.uuid().nullable(),
  trigger_id: z.uuid().nullable(),
  key_id: z.uuid().nullable(),
  user_id: z.uuid().nullable(),
  status: z.enum(['queued', 'running', 'waiting', 'completed', 'failed', 'timeout', 'cancelled', 'blocked']),
  outcome: z.enum(outcomes).nullable(),
  metadata: flat,
  model: z.string().nullable(),
  provider: z.string().nullable(),
  usage: z
    .object({ input_tokens: z.number(), output_tokens: z.number(), total_tokens: z.number() })
    .nullable(),
  cost: z.number(),
  latency_ms: z.number().nullable(),
  first_token_ms: z.number().nullable(),
  tool_calls: z.number(),
  timeout_clock: z.enum(['turn', 'first_signal', 'idle', 'call']).nullable(),
  error: executionError.nullable(),
  delivery_status: z.enum(deliveryStatuses),
  output: z.string().nullable(),
  parsed: z.unknown(),
  blocks: z.array(
    z.object({ type: z.literal('quick_replies'), data: z.object({ labels: z.array(z.string()) }) }),
  ),
  input: z.object({
    accepted_fields: z.array(z.string()).default([]),
    ignored_fields: z.array(z.object({ field: z.string(), reason: z.string() })).default([]),
    last_event: z.number().nullish(),
  }),
  created_at: z.date(),
  started_at: z.date().nullable(),
  finished_at: z.date().nullable(),
});
export type ReadExecution = z.output<typeof executionRow>;

const executionColumns = sql.fragment`
  e.id, e.agent_id, e.session_id, e.trigger_id, e.key_id, e.user_id, e.status, e.outcome, e.metadata, e.model,
  e.provider, e.usage, e.cost, e.latency_ms, e.first_token_ms, e.tool_calls, e.timeout_clock, e.error,
  e.delivery_status, e.output, e.parsed, e.blocks, e.created_at, e.started_at, e.finished_at,
  jsonb_build_object('accepted_fields', coalesce(e.input->'accepted_fields', '[]'),
    'ignored_fields', coalesce(e.input->'ignored_fields', '[]'), 'last_event', e.input->'last_event') as input`;

export interface ExecutionFilter extends Page, Span {
  readonly traceId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly status?: string | undefined;
}

export function findExecution(
  scope: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<ReadExecution | null> {
  return tx.maybeOne(sql.type(executionRow)`
    select ${executionColumns} from executions e where e.tenant_id = ${scope.tenantId} and e.id = ${id}`);
}

const endRow = executionRow.pick({
  status: true,
  outcome: true,
  output: true,
  usage: true,
  latency_ms: true,
  error: true,
});
export type ReadEnd = z.output<typeof endRow>;

const endOfExecution: HotStatement<ReadEnd> = {
  name: 'end_of_execution',
  // A turn that an erasure ended has no row any more. Its id is kept for a day, so that nobody runs it again.
  text: `select status, outcome, output, usage, latency_ms, error from executions where tenant_id = $1 and id = $2
    union all
    select 'cancelled', 'CANCELLED', null, null, null, null from erased_executions where tenant_id = $1 and id = $2
    limit 1`,
  row: endRow,
};

/**
 * Each turn of a trigger calls this once when it is over: no transaction, so that a burst of turns waits for no
 * connection.
 */
export async function findEnd(reads: HotReads, scope: TenantScope, id: string): Promise<ReadEnd | undefined> {
  const [found] = await reads.inTenant(scope, endOfExecution, [scope.tenantId, id]);
  return found;
}

export async function listExecutions(
  scope: TenantScope,
  tx: TenantTransaction,
  { limit, after, traceId, sessionId, agentId, status, from, to }: ExecutionFilter,
): Promise<FoundPage<ReadExecution>> {
  const conditions = [
    sql.fragment`e.tenant_id = ${scope.tenantId}`,
    ...(traceId === undefined ? [] : [sql.fragment`e.trace_id = ${traceId}`]),
    ...(sessionId === undefined ? [] : [sql.fragment`e.session_id = ${sessionId}`]),
    ...(agentId === undefined ? [] : [sql.fragment`e.agent_id = ${agentId}`]),
    ...(status === undefined ? [] : [sql.fragment`e.status = ${status}`]),
    ...(from === undefined ? [] : [sql.fragment`e.created_at >= ${from.toISOString()}::timestamptz`]),
    ...(to === undefined ? [] : [sql.fragment`e.created_at < ${to.toISOString()}::timestamptz`]),
    ...(after === undefined
      ? []
      : [sql.fragment`(e.created_at, e.id) < (${after.at.toISOString()}::timestamptz, ${after.id}::uuid)`]),
  ];
  const page = sql.fragment`
    select ${executionColumns}, coalesce(octet_length(e.output), 0) as text_bytes
    from executions e where ${sql.join(conditions, sql.fragment` and `)}
    order by e.created_at desc, e.id desc limit ${limit + 1}`;
  const rows = await tx.any(
    sql.type(executionRow.extend(pageRows))`${withinTextBytes(page, sql.fragment`created_at desc, id desc`)}`,
  );
  return foundPage(rows, limit);
}

const stepRow = z.object({
  number: z.number(),
  kind: z.enum(['intent', 'model', 'tool']),
  name: z.string(),
  state: z.enum(['started', 'finished', 'failed', 'timeout']),
  detail: flat.nullable(),
  started_at: z.date(),
  finished_at: z.date().nullable(),
});
export type ReadStep = z.output<typeof stepRow>;

export function listSteps(
  scope: TenantScope,
  tx: TenantTransaction,
  executionId: string,
): Promise<readonly ReadStep[]> {
  return tx.any(sql.type(stepRow)`
    select x.number, x.kind, x.name, x.state, x.detail, x.started_at, x.finished_at from execution_steps x
    where x.tenant_id = ${scope.tenantId} and x.execution_id = ${executionId} order by x.number`);
}

/** The stored events of a finished turn, while they are kept. */
export function findLog(scope: TenantScope, tx: TenantTransaction, executionId: string): Promise<unknown> {
  return tx.maybeOneFirst(sql.type(z.object({ events: z.array(z.unknown()) }))`
    select l.events from execution_logs l
    where l.tenant_id = ${scope.tenantId} and l.execution_id = ${executionId} and l.expires_at > now()`);
}
