// What was spent of a budget, as the rows of a real database tell it.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openStore } from '../../../../src/infra/storage/index.js';
import { readSpent } from '../../../../src/tenancy/quota/costs.store.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);

test('a period holds the costs of its own days alone, of one key, one agent or all', async (t) => {
  const store = await openStore({ databaseUrl: database.url });
  const owner = await ownerView(database.url);
  t.teardown(async () => {
    await owner.end();
    await store.close();
  });
  const scope = await insertTenant(store);
  const [key, agent] = [randomUUID(), randomUUID()];
  const days = ['2026-10-31', '2026-11-01', '2026-11-29', '2026-11-30', '2026-12-01'];
  for (const [place, day] of days.entries()) {
    for (const [keyId, nanos] of [
      [key, 10 ** place],
      [randomUUID(), 2 * 10 ** place],
    ]) {
      await owner.query(
        'insert into spent_costs (tenant_id, day, key_id, agent_id, nanos) values ($1, $2, $3, $4, $5)',
        [scope.tenantId, day, keyId, agent, nanos],
      );
    }
  }
  const month = { period: 'month', starts: '2026-11-01' } as const;
  const last = { period: 'day', starts: '2026-11-30' } as const;
  t.is(await readSpent(store, scope, { scope: 'tenant', id: scope.tenantId, ...month }), 3_330);
  t.is(await readSpent(store, scope, { scope: 'tenant', id: scope.tenantId, ...last }), 3_000);
  t.is(await readSpent(store, scope, { scope: 'key', id: key, ...month }), 1_110);
  t.is(await readSpent(store, scope, { scope: 'key', id: key, ...last }), 1_000);
  t.is(await readSpent(store, scope, { scope: 'agent', id: agent, ...last }), 3_000);
  t.is(await readSpent(store, scope, { scope: 'agent', id: key, ...last }), 0);
});
