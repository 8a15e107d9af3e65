// Calls that a later sweep records, since their process died before it could.
import test from 'ava';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { openBatchWriters, openStore } from '../../../../src/infra/storage/index.js';
import { Ledger, ledgerRows } from '../../../../src/models/usage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { logTo } from '../../../support/builders/platform.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { closed, opened } from '../../../support/database/usage-rows.js';

const database = databaseOfFile(test);

test('a call that its caller left is a success, also where a later sweep records it', async (t) => {
  const databaseUrl = database.url;
  const store = await openStore({ databaseUrl });
  const writers = openBatchWriters({ databaseUrl, time: systemTime, random: systemRandom });
  const owner = await ownerView(databaseUrl);
  t.teardown(async () => {
    await owner.end();
    await writers.close();
    await store.close();
  });
  const log = logTo((attempted, error) => t.log(attempted, error));
  const parts = { writers, rows: ledgerRows(store), log };
  const ledger = new Ledger({ ...parts, time: systemTime });
  const { tenantId } = await insertTenant(store);
  const row = opened(tenantId, { deadline_at: '2998-12-01T00:03:00Z' });
  await ledger.open(row);
  await ledger.close(closed(row, { outcome: 'cancelled', stop_reason: null, failure: 'cancelled' }));
  await new Ledger({ ...parts, time: new ManualTime('2998-12-01T00:04:00Z') }).sweep();
  const { rows } = await owner.query(
    'select call_id, status, failure, attempts from calls where tenant_id = $1',
    [tenantId],
  );
  t.deepEqual(rows, [{ call_id: row.call_id, status: 'success', failure: 'cancelled', attempts: 1 }]);
  const hours = await owner.query(
    'select distinct status from call_hours where tenant_id = $1 and calls > 0',
    [tenantId],
  );
  t.deepEqual(hours.rows, [{ status: 'success' }]);
});
