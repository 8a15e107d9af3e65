// Which clock says that an open row of the ledger has been left behind.
import test from 'ava';
import { systemRandom, systemTime, type Time } from '../../../../cluster/index.js';
import { Ledger, ledgerRows } from '../../../../src/models/usage/index.js';
import { openBatchWriters, openStore } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { logTo } from '../../../support/builders/platform.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { opened } from '../../../support/database/usage-rows.js';

const database = databaseOfFile(test);

test('the clock of the store decides whether a deadline has passed, not the clock of a node', async (t) => {
  const hourMs = 3_600_000;
  const at = (fromNowMs: number): string => new Date(Date.now() + fromNowMs).toISOString();
  const store = await openStore({ databaseUrl: database.url });
  const writers = openBatchWriters({ databaseUrl: database.url, time: systemTime, random: systemRandom });
  const owner = await ownerView(database.url);
  t.teardown(async () => {
    await writers.close();
    await store.close();
    await owner.end();
  });
  const { tenantId } = await insertTenant(store);
  for (const aheadMs of [hourMs, -hourMs]) {
    const time: Time = { ...systemTime, wallMs: () => systemTime.wallMs() + aheadMs };
    const log = logTo((attempted, error) => t.log(attempted, error));
    const ledger = new Ledger({ writers, rows: ledgerRows(store), time, log });
    const running = opened(tenantId, { deadline_at: at(hourMs / 2) });
    const left = opened(tenantId, { deadline_at: at(-hourMs / 2) });
    await ledger.open(running);
    await ledger.open(left);
    await ledger.sweep();
    const { rows } = await owner.query(
      'select attempt_id, abs(extract(epoch from closed_at - now())) < 60 as now from usage_rows where outcome is not null and attempt_id = any ($1)',
      [[running.attempt_id, left.attempt_id]],
    );
    t.deepEqual(rows, [{ attempt_id: left.attempt_id, now: true }], `${aheadMs}`);
  }
});
