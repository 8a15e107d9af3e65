import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Position } from '../../http/operations/index.js';
import {
  type FoundPage,
  foundPage,
  pageRows,
  sql,
  type TenantTransaction,
  withinTextBytes,
} from '../../infra/storage/index.js';
import { findTrigger } from '../triggers/triggers.store.js';
import { partsOf } from './inbox.store.js';

const promisedRow = z.object({
  id: z.uuid(),
  session_id: z.uuid(),
  parts: z.array(z.instanceof(Buffer)),
  created_at: z.date(),
});
export type PromisedRow = z.output<typeof promisedRow>;

/** Accepted to run, but not in a session yet; newest first. */
export async function listPromised(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  {
    after,
    limit,
    id,
  }: { readonly after?: Position | undefined; readonly limit: number; readonly id?: string },
): Promise<FoundPage<PromisedRow>> {
  const conditions = [
    sql.fragment`i.tenant_id = ${tenantId} and i.trigger_id = ${triggerId} and i.state = 'running'`,
    sql.fragment`not exists (
      select from known_executions e where e.tenant_id = i.tenant_id and e.id = i.execution_id)`,
    ...(id === undefined ? [] : [sql.fragment`i.execution_id = ${id}`]),
    ...(after === undefined
      ? []
      : [
          sql.fragment`(date_trunc('milliseconds', i.created_at), i.execution_id)
            < (${sql.timestamp(after.at)}, ${after.id}::uuid)`,
        ]),
  ];
  const page = sql.fragment`
    select a.*, (select sum(octet_length(part)) from unnest(a.parts) part) as text_bytes from (
      select i.execution_id as id, i.session_id, ${partsOf}, i.created_at from trigger_inbox i
      where ${sql.join(conditions, sql.fragment` and `)}
      order by date_trunc('milliseconds', i.created_at) desc, i.execution_id desc limit ${limit + 1}) a`;
  const order = sql.fragment`date_trunc('milliseconds', created_at) desc, id desc`;
  const rows = await tx.any(sql.type(promisedRow.extend(pageRows))`${withinTextBytes(page, order)}`);
  return foundPage(rows, limit);
}

const runningRow = z.object({ trigger_id: z.uuid(), session_id: z.uuid(), created_at: z.date() });

export interface PromisedExecution {
  readonly agentId: string;
  readonly sessionId: string;
  readonly triggerId: string;
  readonly createdAt: Date;
}

/** The message that runs as this execution, for sessions, which may not have received it yet. */
export async function findPromised(
  tx: TenantTransaction,
  executionId: string,
): Promise<PromisedExecution | undefined> {
  const row = await tx.maybeOne(sql.type(runningRow)`
    select trigger_id, session_id, created_at from trigger_inbox
    where tenant_id = ${tx.scope.tenantId} and execution_id = ${executionId} and state = 'running'`);
  const trigger = row === null ? null : await findTrigger(tx.scope, tx, row.trigger_id);
  if (row === null || trigger === null) return undefined;
  const { session_id: sessionId, trigger_id: triggerId, created_at: createdAt } = row;
  return { agentId: trigger.agent_id, sessionId, triggerId, createdAt };
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
