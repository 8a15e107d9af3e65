import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import { authorKinds } from '../invocation/index.js';

/** A line of a list holds no more. */
const previewCharacters = 160;

const previewRow = z.object({
  session_id: z.uuid(),
  role: z.enum(['user', 'assistant']),
  author_kind: z.enum(authorKinds).nullable(),
  content: z.string(),
  created_at: z.date(),
});
export type LastMessage = z.output<typeof previewRow>;

/** The beginning of the last message of each session that has one, by session. */
export async function lastMessages(
  tx: TenantTransaction,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, LastMessage>> {
  if (sessionIds.length === 0) return new Map();
  const rows = await tx.any(sql.type(previewRow)`
    select s.id as session_id, l.role, l.author ->> 'kind' as author_kind,
      left(l.content, ${previewCharacters}) as content, l.created_at
    from unnest(${sql.array([...sessionIds], 'uuid')}) as s (id) cross join lateral (
      select m.role, m.author, m.content, m.created_at from messages m
      where m.tenant_id = ${tx.scope.tenantId} and m.session_id = s.id order by m.number desc limit 1) l`);
  return new Map(rows.map((row) => [row.session_id, row]));
}
