// Old messages go in batches that read little more than what they delete.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { z } from 'zod';
import { forgetMessages, type MessagePlace } from '../../../../src/conversations/sessions/index.js';
import { openStore, sql, type TenantTransaction } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);
const rowsMax = 50;
const before = new Date('2026-01-01T00:00:00Z');

/** The messages that this connection has read since it last reported its counts, which it does between transactions. */
function readRows(tx: TenantTransaction): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ read: z.number() }))`
    select (seq_tup_read + idx_tup_fetch)::int8 as read from pg_stat_xact_user_tables where relname = 'messages'`);
}

test('old messages of long and short sessions go in batches, and kept ones are not read by each', async (t) => {
  const store = await openStore({ databaseUrl: database.url });
  const owner = await ownerView(database.url);
  t.teardown(async () => {
    await owner.end();
    await store.close();
  });
  const scopes = [await insertTenant(store), await insertTenant(store)] as const;
  /** Sessions with so many old messages, then so many young ones. */
  const insert = async ({ tenantId }: { tenantId: string }, old: number, young: number): Promise<void> => {
    const id = randomUUID();
    await owner.query(
      `insert into agents (tenant_id, id, document) values ($1, $2::uuid, jsonb_build_object('name', $2::text, 'type', 'chat'))`,
      [tenantId, id],
    );
    await owner.query(
      `insert into sessions (tenant_id, id, agent_id, slot, channel, created_at, last_interaction)
       values ($1, $2, $2, 0, 'chat', now(), now())`,
      [tenantId, id],
    );
    await owner.query(
      `insert into messages (tenant_id, session_id, number, id, role, content, created_at)
       select $1, $2, n, gen_random_uuid(), 'user', 'words',
         $3::timestamptz + interval '1 hour' * case when n <= $4::int then -1 else 1 end
       from generate_series(1, $4::int + $5::int) n`,
      [tenantId, id, before.toISOString(), old, young],
    );
  };
  const [scope, other] = scopes;
  await insert(scope, 320, 200);
  await insert(scope, 50, 0);
  await insert(scope, 0, 500);
  for (let short = 0; short < 130; short += 1) await insert(scope, short % 3, 40);
  await insert(other, 70, 70);
  await owner.query('analyze sessions, messages');
  const counts = async (): Promise<Record<string, number>> => {
    const { rows } = await owner.query<{ tenant_id: string; old: number; young: number }>(
      `select tenant_id, count(*) filter (where created_at < $1)::int as old,
         count(*) filter (where created_at >= $1)::int as young from messages group by 1`,
      [before.toISOString()],
    );
    return Object.fromEntries(
      rows.flatMap(({ tenant_id: id, old, young }) => {
        const name = id === scope.tenantId ? 'own' : 'other';
        return [
          [`${name} old`, old],
          [`${name} young`, young],
        ];
      }),
    );
  };
  const young = 200 + 500 + 130 * 40;
  t.deepEqual(await counts(), { 'own old': 499, 'own young': young, 'other old': 70, 'other young': 70 });

  let last: MessagePlace | undefined;
  let batches = 0;
  do {
    const after = last;
    const { place, read } = await store.inTenant(scope, async (tx) => {
      const readBefore = await readRows(tx);
      const place = await forgetMessages(tx, before, after, rowsMax);
      return { place, read: (await readRows(tx)) - readBefore };
    });
    last = place;
    batches += 1;
    // The next message of each session, the old ones up to the first that is kept, the same again, and the deletion. The
    // longest session alone has more rows.
    t.true(read <= 8 * rowsMax, `${read} rows were read by batch ${batches}`);
    t.true(batches <= 30, 'it ends');
  } while (last !== undefined);
  t.deepEqual(await counts(), { 'own young': young, 'own old': 0, 'other old': 70, 'other young': 70 });
});
