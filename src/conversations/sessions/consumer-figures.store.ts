import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

const figuresRow = z.object({
  consumer_key: z.string(),
  total_sessions: z.number(),
  total_turns: z.number(),
  last_seen: z.date(),
});

/** The sessions of each of these consumers; a consumer without any is left out. With others, the person's messages count as turns. */
export async function figuresOfConsumers(
  tx: TenantTransaction,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Omit<z.output<typeof figuresRow>, 'consumer_key'>>> {
  const { tenantId } = tx.scope;
  const asked = sql.array([...keys], 'text');
  const rows = await tx.any(sql.type(figuresRow)`
    with theirs as (
      select consumer_key, total_turns, last_interaction from sessions
      where tenant_id = ${tenantId} and consumer_key = any(${asked}) and not has_several
      union all
      select p.consumer_key, count(m.*), coalesce(max(m.created_at), p.joined_at)
      from session_participants p
      left join messages m on m.tenant_id = p.tenant_id and m.session_id = p.session_id
        and m.role = 'user' and is_written_by(m.author, p.consumer_key)
      where p.tenant_id = ${tenantId} and p.consumer_key = any(${asked})
      group by p.consumer_key, p.session_id, p.joined_at
    )
    select consumer_key, count(*)::int as total_sessions, sum(total_turns)::float8 as total_turns,
      max(last_interaction) as last_seen
    from theirs group by consumer_key`);
  return new Map(rows.map(({ consumer_key, ...figures }) => [consumer_key, figures]));
}
