import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

const attempt = z.object({
  attempt_id: z.string(),
  call_id: z.string(),
  attempt_number: z.number(),
  source: z.string(),
  key_id: z.string().nullable(),
  user_id: z.string().nullable(),
  agent_id: z.string().nullable(),
  session_id: z.string().nullable(),
  execution_id: z.string().nullable(),
  vendor: z.string(),
  model: z.string(),
  payer: z.string(),
  opened_at: z.date(),
  closed_at: z.date().nullable(),
  outcome: z.string().nullable(),
  failure: z.string().nullable(),
  input_tokens: z.number(),
  cache_read_tokens: z.number(),
  cache_write_tokens: z.number(),
  output_tokens: z.number(),
  reasoning_tokens: z.number(),
  cost: z.number(),
  usage_source: z.string().nullable(),
  duration_ms: z.number().nullable(),
});
export type AttemptRow = z.output<typeof attempt>;
export const attemptColumns: readonly string[] = Object.keys(attempt.shape);

/** The ledger of the tenant, oldest first. */
export function walkAttempts(
  tx: TenantTransaction,
  { from, to }: { readonly from?: Date; readonly to?: Date },
  after: { readonly at: Date; readonly id: string } | undefined,
  limit: number,
): Promise<readonly AttemptRow[]> {
  const conditions = [
    sql.fragment`u.tenant_id = ${tx.scope.tenantId}`,
    ...(from === undefined ? [] : [sql.fragment`u.opened_at >= ${from.toISOString()}::timestamptz`]),
    ...(to === undefined ? [] : [sql.fragment`u.opened_at < ${to.toISOString()}::timestamptz`]),
    ...(after === undefined
      ? []
      : [
          sql.fragment`(u.opened_at, u.attempt_id) > (${after.at.toISOString()}::timestamptz, ${after.id}::uuid)`,
        ]),
  ];
  return tx.any(sql.type(attempt)`
    select u.attempt_id, u.call_id, u.attempt_number, u.source, u.key_id, u.user_id, u.agent_id, u.session_id,
      u.execution_id, u.vendor, u.model, u.payer, u.opened_at, u.closed_at, u.outcome, u.failure, u.input_tokens,
      u.cache_read_tokens, u.cache_write_tokens, u.output_tokens, u.reasoning_tokens, u.cost, u.usage_source, u.duration_ms
    from usage_rows u where ${sql.join(conditions, sql.fragment` and `)}
    order by u.opened_at, u.attempt_id limit ${limit}`);
}
