import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import type { Page } from './reads.store.js';

/** The queries of the endpoints. Only the session's actor writes. */

export const approvalStatuses = ['pending', 'approved', 'denied', 'voided'] as const;

const approvalRow = z.object({
  id: z.uuid(),
  session_id: z.uuid(),
  execution_id: z.uuid(),
  tool: z.string(),
  parameters: z.record(z.string(), z.unknown()),
  sealed_arguments: z.string(),
  sealed_edit: z.string().nullable(),
  status: z.enum(approvalStatuses),
  decided_by: z.string().nullable(),
  reason: z.string().nullable(),
  decided_at: z.date().nullable(),
  created_at: z.date(),
  expires_at: z.date(),
});
export type ReadApproval = z.output<typeof approvalRow>;

const columns = sql.fragment`
  a.id, a.session_id, a.execution_id, a.tool, a.parameters, a.sealed_arguments, a.sealed_edit, a.status, a.decided_by,
  a.reason, a.decided_at, a.created_at, a.expires_at`;

export interface ApprovalFilter extends Page {
  readonly status: string | undefined;
  readonly sessionId: string | undefined;
}

/** Newest first; one row more than the page holds shows whether there is another page. */
export function listApprovals(
  scope: TenantScope,
  tx: TenantTransaction,
  { limit, after, status, sessionId }: ApprovalFilter,
): Promise<readonly ReadApproval[]> {
  const conditions = [
    sql.fragment`a.tenant_id = ${scope.tenantId}`,
    ...(status === undefined ? [] : [sql.fragment`a.status = ${status}`]),
    ...(sessionId === undefined ? [] : [sql.fragment`a.session_id = ${sessionId}`]),
    ...(after === undefined
      ? []
      : [sql.fragment`(a.created_at, a.id) < (${after.at.toISOString()}::timestamptz, ${after.id}::uuid)`]),
  ];
  return tx.any(sql.type(approvalRow)`
    select ${columns} from approvals a where ${sql.join(conditions, sql.fragment` and `)}
    order by a.created_at desc, a.id desc limit ${limit + 1}`);
}

export function findApproval(
  scope: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<ReadApproval | null> {
  return tx.maybeOne(sql.type(approvalRow)`
    select ${columns} from approvals a where a.tenant_id = ${scope.tenantId} and a.id = ${id}`);
}
