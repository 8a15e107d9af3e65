import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

/**
 * One step takes about 3 ms, whatever the transcripts hold. Its time grows faster than its sessions: 1,024 in one step
 * take 190 ms.
 */
const sessionsEach = 128;
const stepsMax = 4;

const visitedRow = z.object({ id: z.uuid(), at: z.string(), has_words: z.boolean() });

type Condition = ReturnType<typeof sql.fragment>;

/**
 * The newest sessions with a message that has all the words: at least as many as are wanted, if there are so many.
 *
 * A frequent word is among the newest sessions, so these are visited first, in steps. Finding all messages that have it
 * takes 300 ms for 100,000. A word that the steps did not find often enough is rarer, and the index finds all its messages.
 */
export async function searchSessions(
  tx: TenantTransaction,
  conditions: readonly Condition[],
  words: string,
  wanted: number,
): Promise<string[]> {
  const found: string[] = [];
  let last: z.output<typeof visitedRow> | undefined;
  for (let step = 0; step < stepsMax; step += 1) {
    const visited = await visit(tx, conditions, words, last);
    for (const { id, has_words: hasWords } of visited) if (hasWords) found.push(id);
    if (found.length >= wanted || visited.length < sessionsEach) return found;
    last = visited.at(-1);
  }
  const rest = await tx.anyFirst(sql.type(z.object({ id: z.uuid() }))`
    select s.id from sessions s
    where s.tenant_id = ${tx.scope.tenantId} and ${sql.join([...conditions, ...after(last)], sql.fragment` and `)}
      and s.id in (select w.session_id from sessions_with_words(${words}) w)
    order by s.last_interaction desc, s.id desc limit ${wanted - found.length}`);
  return [...found, ...rest];
}

/** The next sessions, newest first. */
function visit(
  tx: TenantTransaction,
  conditions: readonly Condition[],
  words: string,
  last: z.output<typeof visitedRow> | undefined,
): Promise<readonly z.output<typeof visitedRow>[]> {
  return tx.any(sql.type(visitedRow)`
    with visited as materialized (
      select s.id, s.last_interaction from sessions s
      where s.tenant_id = ${tx.scope.tenantId} and ${sql.join([...conditions, ...after(last)], sql.fragment` and `)}
      order by s.last_interaction desc, s.id desc limit ${sessionsEach})
    select v.id, v.last_interaction::text as at,
      v.id in (select w.session_id from words_in_sessions(${words}, (select array_agg(id) from visited)) w) as has_words
    from visited v order by v.last_interaction desc, v.id desc`);
}

function after(last: z.output<typeof visitedRow> | undefined): Condition[] {
  if (last === undefined) return [];
  return [sql.fragment`(s.last_interaction, s.id) < (${last.at}::timestamptz, ${last.id}::uuid)`];
}
