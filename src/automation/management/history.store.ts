import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Position } from '../../http/operations/index.js';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import { triggerTypes } from '../triggers/config/trigger-config.js';
import { partsOf } from '../inbox/inbox.store.js';

const executionRow = z.object({
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
  truncated: z.boolean(),
  created_at: z.date(),
  started_at: z.date().nullable(),
  finished_at: z.date().nullable(),
});

export type ExecutionRow = z.output<typeof executionRow>;

const columns = sql.fragment`
  e.id, e.trigger_id, e.agent_id, e.session_id, e.status, e.outcome, e.error, e.input, e.output, e.usage, e.cost,
  e.model, e.provider, e.latency_ms, e.delivery_status, coalesce(d.truncated, e.answer_cut) as truncated, e.created_at,
  e.started_at, e.finished_at`;
const source = sql.fragment`
  executions e left join deliveries d on d.tenant_id = e.tenant_id and d.execution_id = e.id`;

/** Newest first. */
export function listExecutions(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  page: {
    readonly status?: string | undefined;
    readonly after?: Position | undefined;
    readonly limit: number;
  },
): Promise<readonly ExecutionRow[]> {
  const { status, after, limit } = page;
  const conditions = [
    sql.fragment`e.tenant_id = ${tenantId} and e.trigger_id = ${triggerId}`,
    ...(status === undefined ? [] : [sql.fragment`e.status = ${status}`]),
    ...(after === undefined
      ? []
      : [
          sql.fragment`(date_trunc('milliseconds', e.created_at), e.id) < (${sql.timestamp(after.at)}, ${after.id}::uuid)`,
        ]),
  ];
  return tx.any(sql.type(executionRow)`
    select ${columns} from ${source} where ${sql.join(conditions, sql.fragment` and `)}
    order by date_trunc('milliseconds', e.created_at) desc, e.id desc limit ${limit}`);
}

export function findExecution(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  id: string,
): Promise<ExecutionRow | null> {
  return tx.maybeOne(sql.type(executionRow)`
    select ${columns} from ${source}
    where e.tenant_id = ${tenantId} and e.trigger_id = ${triggerId} and e.id = ${id}`);
}

const promisedRow = z.object({
  id: z.uuid(),
  session_id: z.uuid(),
  parts: z.array(z.instanceof(Buffer)),
  created_at: z.date(),
});
export type PromisedRow = z.output<typeof promisedRow>;

/** Accepted to run, but not in a session yet. */
export function promisedExecutions(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  {
    after,
    limit,
    id,
  }: { readonly after?: Position | undefined; readonly limit: number; readonly id?: string },
): Promise<readonly PromisedRow[]> {
  const conditions = [
    sql.fragment`i.tenant_id = ${tenantId} and i.trigger_id = ${triggerId} and i.state = 'running'`,
    sql.fragment`not exists (
      select from executions e where e.tenant_id = i.tenant_id and e.id = i.execution_id)`,
    ...(id === undefined ? [] : [sql.fragment`i.execution_id = ${id}`]),
    ...(after === undefined
      ? []
      : [
          sql.fragment`(date_trunc('milliseconds', i.created_at), i.execution_id)
            < (${sql.timestamp(after.at)}, ${after.id}::uuid)`,
        ]),
  ];
  return tx.any(sql.type(promisedRow)`
    select i.execution_id as id, i.session_id, ${partsOf}, i.created_at from trigger_inbox i
    where ${sql.join(conditions, sql.fragment` and `)}
    order by date_trunc('milliseconds', i.created_at) desc, i.execution_id desc limit ${limit}`);
}

const stepRow = z.object({
  number: z.number(),
  kind: z.string(),
  name: z.string(),
  state: z.string(),
  started_at: z.date(),
  finished_at: z.date().nullable(),
});

export type StepRow = z.output<typeof stepRow>;

export function stepsOf(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  executionId: string,
): Promise<readonly StepRow[]> {
  return tx.any(sql.type(stepRow)`
    select number, kind, name, state, started_at, finished_at from execution_steps
    where tenant_id = ${tenantId} and execution_id = ${executionId} order by number`);
}

/** Whether the message is part of the conversation. */
export function hasMessage(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  sessionId: string,
  id: string,
): Promise<boolean> {
  return tx.exists(sql.typeAlias('nothing')`
    select from messages where tenant_id = ${tenantId} and session_id = ${sessionId} and id = ${id}`);
}

const bufferedRow = z.object({ sealed: z.instanceof(Buffer), created_at: z.date() });

/** The messages that one execution answers together. */
export function bufferedMessagesOf(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  executionId: string,
): Promise<readonly z.output<typeof bufferedRow>[]> {
  return tx.any(sql.type(bufferedRow)`
    select sealed, created_at from trigger_inbox
    where tenant_id = ${tenantId} and execution_id = ${executionId} and state = 'merged' order by seq`);
}

const typeCount = z.object({ trigger_type: z.enum(triggerTypes), total: z.number(), enabled: z.number() });

export function countByType(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
): Promise<readonly z.output<typeof typeCount>[]> {
  return tx.any(sql.type(typeCount)`
    select trigger_type, count(*) as total, count(*) filter (where enabled) as enabled
    from triggers where tenant_id = ${tenantId} group by trigger_type`);
}

const executionCounts = z.object({
  total: z.number(),
  completed: z.number(),
  failed: z.number(),
  timeout: z.number(),
  last_24h: z.number(),
  avg_latency_ms: z.number().nullable(),
});

export function countExecutions(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
): Promise<z.output<typeof executionCounts>> {
  return tx.one(sql.type(executionCounts)`
    select count(*) as total,
      count(*) filter (where status = 'completed') as completed,
      count(*) filter (where status = 'failed') as failed,
      count(*) filter (where status = 'timeout') as timeout,
      count(*) filter (where created_at > now() - interval '24 hours') as last_24h,
      avg(latency_ms) filter (where status in ('completed', 'timeout'))::float8 as avg_latency_ms
    from executions where tenant_id = ${tenantId} and trigger_id is not null`);
}
