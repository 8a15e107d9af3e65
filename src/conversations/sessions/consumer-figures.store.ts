import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

const figuresRow = z.object({
  consumer_key: z.string(),
  total_sessions: z.number(),
  total_turns: z.number(),
  last_seen: z.date(),
});

/** The sessions of each of these consumers; a consumer without any is left out. */
export async function figuresOfConsumers(
  tx: TenantTransaction,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Omit<z.output<typeof figuresRow>, 'consumer_key'>>> {
  const rows = await tx.any(sql.type(figuresRow)`
    select consumer_key, count(*)::int as total_sessions, sum(total_turns)::float8 as total_turns,
      max(last_interaction) as last_seen
    from sessions
    where tenant_id = ${tx.scope.tenantId} and consumer_key = any(${sql.array([...keys], 'text')})
    group by consumer_key`);
  return new Map(rows.map(({ consumer_key, ...figures }) => [consumer_key, figures]));
}
