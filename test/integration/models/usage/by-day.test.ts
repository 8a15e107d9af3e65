// The days of the costliest groups, while calls end.
import test from 'ava';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { openBatchWriters, openStore, type Store } from '../../../../src/infra/storage/index.js';
import { partsOf } from '../../../../src/models/telemetry/index.js';
import { Ledger, ledgerRows, usageByDay } from '../../../../src/models/usage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { logTo } from '../../../support/builders/platform.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { closed, opened } from '../../../support/database/usage-rows.js';

const database = databaseOfFile(test);

test('the days add up to their group, though a call ends between the two queries', async (t) => {
  const store = await openStore({ databaseUrl: database.url });
  const writers = openBatchWriters({ databaseUrl: database.url, time: systemTime, random: systemRandom });
  t.teardown(async () => {
    await writers.close();
    await store.close();
  });
  const log = logTo((attempted, error) => t.fail(`${attempted}: ${String(error)}`));
  const ledger = new Ledger({ writers, rows: ledgerRows(store), time: systemTime, log });
  const scope = await insertTenant(store);
  const end = async (openedAt: string): Promise<void> => {
    const row = opened(scope.tenantId, { opened_at: openedAt });
    await ledger.open(row);
    await ledger.close(closed(row, { cost: 0.5 }), undefined, row);
  };
  await end('2026-11-29T12:00:00Z');
  await end('2026-11-30T12:00:00Z');
  let queries = 0;
  /** After the first query a call ends. */
  const interrupted: Store = {
    ...store,
    inTenant: (of, handler, options) =>
      store.inTenant(
        of,
        (tx) =>
          handler({
            ...tx,
            any: async (query) => {
              const rows = await tx.any(query);
              queries += 1;
              if (queries === 1) await end('2026-11-30T12:00:01Z');
              return rows;
            },
          }),
        options,
      ),
  };
  const range = { from: new Date('2026-11-29T00:00:00Z'), to: new Date('2026-12-01T00:00:00Z') };
  const wanted = { group: 'model', groupsMax: 8 } as const;
  const parts = { ...range, ...partsOf(range) };
  const { groups, days } = await usageByDay(interrupted, scope, parts, wanted);
  t.is(queries, 2);
  t.deepEqual(
    groups.map(({ key, cost, calls }) => [key, cost, calls]),
    [['sim.echo', 1, 2]],
  );
  t.deepEqual(
    days?.get('sim.echo')?.map(({ day, cost }) => [day, cost]),
    [
      ['2026-11-29', 0.5],
      ['2026-11-30', 0.5],
    ],
  );
  const later = await usageByDay(store, scope, parts, wanted);
  t.deepEqual([later.total.calls, later.days?.get('sim.echo')?.at(-1)?.calls], [3, 2]);
});
