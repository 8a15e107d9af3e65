// The operator's sums over tenants: whole hours from their sums, the partial hours at both ends from rows.
import test from 'ava';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { openBatchWriters, openStore } from '../../../../src/infra/storage/index.js';
import { partsOf } from '../../../../src/models/telemetry/index.js';
import {
  installationGroups,
  installationTotals,
  Ledger,
  ledgerRows,
  totalsOfTenants,
} from '../../../../src/models/usage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { logTo } from '../../../support/builders/platform.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { call } from '../../../support/database/usage-rows.js';

const database = databaseOfFile(test);

const times = ['09:59:59.999', '10:00:00', '10:30:00', '11:59:59.999', '12:00:00', '12:15:00', '12:45:00'];
const at = (time: string): Date => new Date(`2026-11-20T${time}Z`);
const nanos = (cost: number): number => Math.round(cost * 1e9);

test('sums of any range are those of the rows, and whole hours need no row', async (t) => {
  const { url } = database;
  const store = await openStore({ databaseUrl: url });
  const writers = openBatchWriters({ databaseUrl: url, time: systemTime, random: systemRandom });
  t.teardown(async () => {
    await writers.close();
    await store.close();
  });
  const ledger = new Ledger({
    writers,
    rows: ledgerRows(store),
    time: systemTime,
    log: logTo((attempted, error) => t.fail(`${attempted}: ${String(error)}`)),
  });
  const scopes = [await insertTenant(store), await insertTenant(store)] as const;
  const tenants = [scopes[0].tenantId, scopes[1].tenantId] as const;
  const made = times.flatMap((time, number) =>
    tenants.map((tenantId, nth) => ({ tenantId, at: at(time), cost: (number + 1 + nth * 10) / 1e9 })),
  );
  for (const { tenantId, at: startedAt, cost } of made) {
    await ledger.record(call(tenantId, { started_at: startedAt.toISOString(), cost, call_source: 'agent' }));
  }

  const totals = (from: Date, to: Date, group: (typeof installationGroups)[number]) =>
    store.directory((tx) => installationTotals(tx, { from, to, ...partsOf({ from, to }) }, group));
  const ranges = [
    [at('10:00:00'), at('13:00:00')],
    [at('09:30:00'), at('12:15:00')],
    [at('10:15:00'), at('12:30:00')],
    [at('10:15:00'), at('10:45:00')],
    [at('12:00:00'), at('12:00:00.001')],
  ] as const;
  for (const [from, to] of ranges) {
    const inside = made.filter((one) => one.at >= from && one.at < to);
    for (const group of installationGroups) {
      const found = await totals(from, to, group);
      t.is(
        found.reduce((sum, row) => sum + row.calls, 0),
        inside.length,
        `${group} ${from.toISOString()}`,
      );
      t.is(
        nanos(found.reduce((sum, row) => sum + row.cost, 0)),
        nanos(inside.reduce((sum, { cost }) => sum + cost, 0)),
      );
    }
  }
  t.deepEqual(
    (await totals(at('10:00:00'), at('13:00:00'), 'day')).map(({ key }) => key),
    ['2026-11-20'],
  );

  const month = await store.directory((tx) => totalsOfTenants(tx, tenants, new Date('2026-11-01T00:00:00Z')));
  t.is(month.get(tenants[0])?.calls, times.length);
  t.deepEqual(month.get(tenants[1])?.last_call_at, at('12:45:00'));

  const owner = await ownerView(url);
  t.teardown(() => owner.end());
  await owner.query('delete from calls where started_at < $1', [at('12:00:00')]);
  const kept = await totals(at('10:00:00'), at('13:00:00'), 'model');
  t.deepEqual(
    kept.map(({ key, calls }) => [key, calls]),
    [['sim.echo', (times.length - 1) * 2]],
  );
});
