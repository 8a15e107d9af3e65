import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import type { Range } from './range.js';

const turnRow = z.object({
  status: z.string(),
  turns: z.number(),
  latencies: z.array(z.number().nullable()).nullable(),
});

export interface TurnSums {
  readonly byStatus: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** Turns and executions of triggers that began in the range, by status, and the times of those that ended. */
export async function readTurns(
  tx: TenantTransaction,
  { from, to }: Range,
  agentId: string | undefined,
): Promise<TurnSums> {
  const rows = await tx.any(sql.type(turnRow)`
    select coalesce(status, '') as status, count(*)::bigint as turns,
      percentile_disc(array[0.5, 0.95]) within group (order by latency_ms)::float8[] as latencies
    from reports.executions
    where tenant_id = ${tx.scope.tenantId} and created_at >= ${from.toISOString()}::timestamptz
      and created_at < ${to.toISOString()}::timestamptz
      and (${agentId ?? null}::uuid is null or agent_id = ${agentId ?? null}::uuid)
    group by grouping sets ((status), ())`);
  const total = rows.find(({ status }) => status === '');
  return {
    byStatus: Object.fromEntries(
      rows.filter(({ status }) => status !== '').map(({ status, turns }) => [status, turns]),
    ),
    p50Ms: total?.latencies?.[0] ?? 0,
    p95Ms: total?.latencies?.[1] ?? 0,
  };
}
