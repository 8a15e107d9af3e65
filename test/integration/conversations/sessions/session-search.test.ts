// Words in the transcripts of a tenant with many sessions, and the rows that a search reads.
import test from 'ava';
import { z } from 'zod';
import { openStore, sql, type Store } from '../../../../src/infra/storage/index.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { listSessions } from '../../../../src/conversations/sessions/reads.store.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);
const sessions = 12_000;
const page = 50;

/** Session `n` is the n-th newest. Each has two messages; the second is an answer of 20,000 characters in every 100th. */
async function fill(tenantId: string): Promise<void> {
  const owner = await ownerView(database.url);
  const { rows } = await owner.query<{ id: string }>(
    `insert into agents (tenant_id, id, document) values ($1, gen_random_uuid(), '{"name": "a", "type": "chat"}')
     returning id`,
    [tenantId],
  );
  await owner.query(
    `insert into sessions (tenant_id, id, agent_id, slot, channel, created_at, last_interaction, metadata)
     select $1, gen_random_uuid(), $2, 0, case when n % 5 = 0 then 'fifth' else 'chat' end, now(),
       now() - interval '1 second' * (n / 3), jsonb_build_object('n', n) from generate_series(1, $3::int) n`,
    [tenantId, rows[0]?.id, sessions],
  );
  await owner.query(
    `insert into messages (tenant_id, session_id, number, id, role, content, created_at)
     select tenant_id, id, part, gen_random_uuid(), 'user',
       'an order'
         || case when n % 7 = 0 and part = 1 then ' seventh' else '' end
         || case when n % 1500 = 0 then ' rare' else '' end
         || case when n > 9000 then ' ancient' else '' end
         || case when n % 100 = 0 and part = 2 then repeat(' long', 4000) else '' end, now()
     from (select *, (metadata ->> 'n')::int as n from sessions where tenant_id = $1) s, generate_series(1, 2) part`,
    [tenantId],
  );
  await owner.query('vacuum analyze sessions, messages');
  await owner.end();
}

async function pagesOf(
  store: Store,
  scope: TenantScope,
  search: string,
  channel?: string,
): Promise<string[]> {
  const found: string[] = [];
  let after: { at: Date; id: string } | undefined;
  for (;;) {
    const rows = await store.inTenant(scope, (tx) =>
      listSessions(scope, tx, { limit: page, after, search, channel }),
    );
    const shown = rows.slice(0, page);
    found.push(...shown.map(({ id }) => id));
    const last = shown.at(-1);
    if (rows.length <= page || last === undefined) return found;
    after = { at: last.last_interaction, id: last.id };
  }
}

test.serial(
  'every session with the words is found by paging, newest first, whatever their number',
  async (t) => {
    t.timeout(180_000);
    const store = await openStore({ databaseUrl: database.url });
    t.teardown(() => store.close());
    const [scope, other] = [await insertTenant(store), await insertTenant(store)];
    await fill(scope.tenantId);
    await fill(other.tenantId);
    const expected = async (condition: (n: number) => boolean): Promise<string[]> => {
      const numbers = Array.from({ length: sessions }, (_, index) => index + 1).filter(condition);
      const rows = await store.inTenant(scope, (tx) =>
        tx.anyFirst(sql.type(z.object({ id: z.uuid() }))`
        select id from sessions where tenant_id = ${scope.tenantId}
          and (metadata ->> 'n')::int = any(${sql.array(numbers, 'int4')})
        order by last_interaction desc, id desc`),
      );
      return [...rows];
    };
    t.deepEqual(await pagesOf(store, scope, 'seventh ORDER'), await expected((n) => n % 7 === 0));
    t.deepEqual(await pagesOf(store, scope, 'rare'), await expected((n) => n % 1_500 === 0));
    t.deepEqual(await pagesOf(store, scope, 'long'), await expected((n) => n % 100 === 0));
    t.deepEqual(
      await pagesOf(store, scope, 'ancient seventh'),
      await expected((n) => n > 9_000 && n % 7 === 0),
    );
    t.deepEqual(await pagesOf(store, scope, 'seventh', 'fifth'), await expected((n) => n % 35 === 0));
    t.deepEqual(await pagesOf(store, scope, 'nothing'), []);
    t.deepEqual(await pagesOf(store, scope, '!'), []);
    const [one = ''] = await expected((n) => n === 1);
    t.deepEqual(await pagesOf(store, scope, one), [], 'the session is not a word of its transcript');
    t.deepEqual(await pagesOf(store, scope, `s ${one}`), []);

    // 24,000 messages have `order`; the plan of a search reads those of the sessions that it visits.
    const counted = sql.type(z.object({ rows: z.number(), scans: z.number() }))`
    select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::int8 as rows, coalesce(sum(seq_scan), 0)::int8 as scans
    from pg_stat_xact_user_tables where relname in ('messages', 'sessions')`;
    for (const [search, rowsMax] of [
      ['order', 500],
      ['seventh', 300],
      ['rare', 100],
      ['nothing', 50],
    ] as const) {
      // A connection of its own: the counts of one are sent on now and then, not with each commit.
      const fresh = await openStore({ databaseUrl: database.url });
      const { rows, scans } = await fresh.inTenant(scope, async (tx) => {
        await listSessions(scope, tx, { limit: page, after: undefined, search });
        return tx.one(counted);
      });
      await fresh.close();
      t.log(`${search}: ${rows} rows`);
      t.is(scans, 0, search);
      t.true(rows <= rowsMax && (rows > 0 || search === 'nothing'), `${search} reads ${rows} rows`);
    }
  },
);
