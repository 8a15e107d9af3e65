// What comes into a person's session while it is emptied stays: another person may have joined with it.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { LargeErasure } from '../../../../src/conversations/sessions/large-erasure.js';
import { sessionsBefore } from '../../../../src/conversations/sessions/retention.store.js';
import { openStore, type Store } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { systemTime } from '../../../../cluster/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);
const messages = 200;

async function openTenant(t: ExecutionContext) {
  const store = await openStore({ databaseUrl: database.url });
  const owner = await ownerView(database.url);
  t.teardown(async () => {
    await owner.end();
    await store.close();
  });
  return { store, owner, scope: await insertTenant(store) };
}

test('rows and previews that come after the look stay', async (t) => {
  const { store, owner, scope } = await openTenant(t);
  const sessionId = randomUUID();
  const place = [scope.tenantId, sessionId];
  const insertMessages = (from: number, to: number, content: string): Promise<unknown> =>
    owner.query(
      `insert into messages (tenant_id, session_id, number, id, role, content, created_at)
       select $1, $2, n, gen_random_uuid(), 'user', $5, now() from generate_series($3::int, $4::int) n`,
      [...place, from, to, content],
    );
  const insertCall = (preview: string): Promise<unknown> =>
    owner.query(
      `insert into calls (tenant_id, started_at, call_id, session_id, call_source, provider, model, first_model, status,
         from_cache, attempts, input_tokens, output_tokens, cached_tokens, cache_creation_tokens, cost, response_time_ms,
         input_preview, output_preview)
       values ($1, clock_timestamp(), gen_random_uuid(), $2, 's', 'v', 'm', 'm', 'success', false, 1, 1, 1, 0, 0, 0, 1, $3, $3)`,
      [...place, preview],
    );
  await owner.query('select prepare_call_partitions(now())');
  await owner.query(
    `insert into agents (tenant_id, id, document) values ($1, $2, '{"name": "a", "type": "chat"}')`,
    place,
  );
  await owner.query(
    `insert into sessions (tenant_id, id, agent_id, slot, channel, consumer_key, created_at, last_interaction)
     values ($1, $2, $2, 0, 'slack', 'ann', now(), now())`,
    place,
  );
  await insertMessages(1, messages, 'of ann');
  await insertCall('of ann');

  let transactions = 0;
  const joined: Pick<Store, 'inTenant' | 'directory'> = {
    directory: (work) => store.directory(work),
    async inTenant(given, work) {
      transactions += 1;
      // The first transaction looks what there is, the second begins to delete.
      if (transactions === 2) {
        await insertMessages(messages + 1, messages + 1, 'of bob');
        await insertCall('of bob');
      }
      return store.inTenant(given, work);
    },
  };
  const erasure = new LargeErasure({ store: joined as Store, time: systemTime });
  await erasure.ofPerson(scope, { sessionId, consumerKey: 'ann' }, () => Promise.resolve());

  t.true(transactions > 2);
  const { rows } = await owner.query('select content from messages where session_id = $1', [sessionId]);
  t.deepEqual(rows, [{ content: 'of bob' }]);
  const { rows: previews } = await owner.query(
    'select input_preview, output_preview from calls where session_id = $1 order by started_at',
    [sessionId],
  );
  t.deepEqual(previews, [
    { input_preview: '', output_preview: '' },
    { input_preview: 'of bob', output_preview: 'of bob' },
  ]);
});

test('a session that is kept no longer stays while it is used', async (t) => {
  const { store, owner, scope } = await openTenant(t);
  const sessionId = randomUUID();
  const place = [scope.tenantId, sessionId];
  await owner.query(
    `insert into agents (tenant_id, id, document) values ($1, $2, '{"name": "a", "type": "chat"}')`,
    place,
  );
  await owner.query(
    `insert into sessions (tenant_id, id, agent_id, slot, channel, created_at, last_interaction)
     values ($1, $2, $2, 0, 'slack', now() - interval '9 days', now() - interval '8 days')`,
    place,
  );
  await owner.query(
    `insert into messages (tenant_id, session_id, number, id, role, content, created_at)
     select $1, $2, n, gen_random_uuid(), 'user', 'x', now() - interval '8 days' from generate_series(1, $3::int) n`,
    [...place, messages],
  );
  const erasure = new LargeErasure({ store, time: systemTime });
  const erase = (days: number): Promise<boolean> =>
    erasure.ofUnused(scope, { sessionId, before: new Date(Date.now() - days * 86_400_000) }, () =>
      Promise.resolve(true),
    );
  const listed = async (): Promise<readonly string[]> => {
    const before = new Date(Date.now() - 7 * 86_400_000);
    return (await store.inTenant(scope, (tx) => sessionsBefore(tx, before, undefined, 10))).map(
      ({ id }) => id,
    );
  };
  const left = async (): Promise<number> =>
    (await owner.query('select from messages where session_id = $1', [sessionId])).rowCount ?? 0;
  t.false(await erase(9), 'it was used eight days ago');

  await owner.query(
    `insert into executions (tenant_id, id, session_id, agent_id, slot, arrival, channel, status, due_at, input, created_at)
     values ($1, $2, $2, $2, 0, 1, 'slack', 'waiting', now(), '{}', now())`,
    place,
  );
  t.false(await erase(7), 'a turn waits for a decision');
  t.deepEqual(await listed(), []);
  await owner.query(`update executions set outcome = 'CANCELLED', status = 'cancelled' where id = $1`, [
    sessionId,
  ]);

  for (const state of ['buffered', 'running']) {
    await owner.query(
      `insert into trigger_inbox (tenant_id, trigger_id, session_id, key, state, payload_hash, sealed, due_at, expires_at)
       values ($1, $2, $2, $3, $3, '', '', now(), now())`,
      [...place, state],
    );
    t.false(await erase(7), `a message on its way is ${state}`);
    t.deepEqual(await listed(), []);
    await owner.query('delete from trigger_inbox where session_id = $1', [sessionId]);
  }
  t.is(await left(), messages);
  t.deepEqual(await listed(), [sessionId]);
  t.true(await erase(7));
  t.is(await left(), 0);
});
