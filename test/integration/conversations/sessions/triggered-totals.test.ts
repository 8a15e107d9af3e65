// The figures of triggers: the same before and after executions are summed, and after they are removed.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { countTriggered, sumTriggered } from '../../../../src/conversations/sessions/index.js';
import { openStore } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);

test('executions count once, however often and by how many they are summed, and after their removal', async (t) => {
  const store = await openStore({ databaseUrl: database.url });
  const owner = await ownerView(database.url);
  t.teardown(async () => {
    await owner.end();
    await store.close();
  });
  const scope = await insertTenant(store);
  const [trigger, other] = [randomUUID(), randomUUID()];
  const insert = async (of: string | null, status: string, age: string, latencyMs: number | null) => {
    const outcome = ['queued', 'running'].includes(status) ? null : status.toUpperCase();
    const id = randomUUID();
    await owner.query(
      `insert into executions (tenant_id, id, agent_id, trigger_id, slot, arrival, channel, status, outcome, due_at, input,
         created_at, latency_ms) values ($1, $2, $2, $3, 0, 1, 'webhook', $4, $5, now(), '{}', now() - $6::interval, $7)`,
      [scope.tenantId, id, of, status, outcome, age, latencyMs],
    );
    return id;
  };
  for (let day = 1; day <= 20; day += 1) await insert(trigger, 'completed', `${day} days 2 hours`, day * 10);
  await insert(trigger, 'failed', '3 days', 7);
  await insert(trigger, 'timeout', '2 hours', 500);
  await insert(trigger, 'completed', '5 minutes', null);
  await insert(other, 'completed', '9 days', 40);
  await insert(null, 'completed', '9 days', 9_000);
  const figures = () =>
    store.inTenant(scope, async (tx) => ({
      all: await countTriggered(tx),
      one: await countTriggered(tx, trigger),
      none: await countTriggered(tx, randomUUID()),
    }));
  const before = await figures();
  t.deepEqual(before.one, {
    total: 23,
    completed: 21,
    failed: 1,
    timeout: 1,
    last_24h: 2,
    avg_latency_ms: (2_100 + 500) / 21,
  });
  t.like(before.all, { total: 24, completed: 22 });
  t.like(before.none, { total: 0, avg_latency_ms: null });

  const unfinished = await insert(trigger, 'running', '4 days', null);
  const sumAll = async (): Promise<void> => {
    while ((await store.inTenant(scope, (tx) => sumTriggered(tx, 2))) > 0);
  };
  await Promise.all([sumAll(), sumAll(), sumAll()]);
  const summed = async (): Promise<number> => {
    const { rows } = await owner.query(
      'select coalesce(sum(total), 0)::int as n from triggered_totals where tenant_id = $1',
      [scope.tenantId],
    );
    return rows[0].n;
  };
  t.is(await summed(), 18, 'the days before the one that still runs');
  t.is((await figures()).one.total, 24);
  await owner.query(`update executions set status = 'failed', outcome = 'FAILED' where id = $1`, [
    unfinished,
  ]);
  await Promise.all([sumAll(), sumAll()]);
  t.is(await summed(), 24, 'all but the last hour');
  const after = await figures();
  t.deepEqual(after.one, { ...before.one, total: 24, failed: 2 });

  await owner.query(`delete from executions where tenant_id = $1 and created_at < now() - interval '1 day'`, [
    scope.tenantId,
  ]);
  await sumAll();
  t.deepEqual(await figures(), after);
});
