// Attempts whose rows were opened and which were not made after all, on a real database.
import test, { type ExecutionContext } from 'ava';
import type pg from 'pg';
import { systemRandom, systemTime, type Time } from '../../../../cluster/index.js';
import { openBatchWriters, openStore } from '../../../../src/infra/storage/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { Ledger, ledgerRows, type OpenedRow } from '../../../../src/models/usage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { logTo } from '../../../support/builders/platform.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { closed, opened } from '../../../support/database/usage-rows.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';

const database = databaseOfFile(test);
let owner: pg.Client;

test.serial.before(async () => {
  owner = await ownerView(database.url);
  database.atEnd(() => owner.end());
});

async function ledgerOn(t: ExecutionContext, databaseUrl = database.url, time: Time = systemTime) {
  const store = await openStore({ databaseUrl });
  const writers = openBatchWriters({ databaseUrl, time, random: systemRandom, statementTimeoutMs: 1_000 });
  t.teardown(async () => {
    await writers.close();
    await store.close();
  });
  const log = logTo((attempted, error) => t.log(attempted, error));
  const { tenantId } = await insertTenant(store);
  return { tenantId, ledger: new Ledger({ writers, rows: ledgerRows(store), time, log }) };
}

/** Past by the clock of these tests alone, whose sweeps look for unrecorded calls. */
const past = { deadline_at: '2998-12-01T00:03:00Z' };

async function recordUnrecorded(t: ExecutionContext): Promise<void> {
  const { ledger } = await ledgerOn(t, database.url, new ManualTime('2998-12-01T00:04:00Z'));
  await ledger.sweep();
}

async function countsOf(tenantId: string): Promise<Readonly<Record<string, number>>> {
  const tables = ['usage_rows', 'calls', 'call_hours', 'quota_months', 'spent_costs'];
  const counts = tables.map(
    (table) => `(select count(*)::int from ${table} where tenant_id = $1) as ${table}`,
  );
  return (await owner.query(`select ${counts.join(', ')}`, [tenantId])).rows[0];
}

const nothing = { usage_rows: 0, calls: 0, call_hours: 0, quota_months: 0, spent_costs: 0 };

test('an attempt withdrawn before or after its opening leaves nothing and counts nowhere', async (t) => {
  const { ledger, tenantId } = await ledgerOn(t);
  const known = opened(tenantId, past);
  await ledger.open(known);
  await ledger.withdraw(known);
  t.deepEqual(await countsOf(tenantId), nothing, 'at once');
  const early = opened(tenantId, past);
  await ledger.withdraw(early);
  // Repeats of openings arrive after all.
  for (const row of [early, known]) await ledger.open(row);
  t.like(await countsOf(tenantId), { usage_rows: 2 });
  await ledger.sweep();
  await recordUnrecorded(t);
  t.deepEqual(await countsOf(tenantId), nothing);
});

test('a withdrawal leaves a closed attempt as it is', async (t) => {
  const { ledger, tenantId } = await ledgerOn(t);
  const row: OpenedRow = opened(tenantId, past);
  await ledger.open(row);
  await ledger.close(closed(row));
  const before = await countsOf(tenantId);
  t.like(before, { usage_rows: 1, call_hours: 1 });
  await ledger.withdraw(row);
  await ledger.sweep();
  t.deepEqual(await countsOf(tenantId), before);
});

test('an attempt whose opening has an unknown outcome is withdrawn once the store is back', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  // Deadlines pass ten times as fast, so that the test waits less for an unavailable store.
  const fastTime = {
    ...systemTime,
    after: (delayMs: number, action: () => void) => systemTime.after(delayMs / 10, action),
  };
  const { ledger, tenantId } = await ledgerOn(t, proxy.url, fastTime);
  const kept = opened(tenantId, past);
  await ledger.open(kept);
  proxy.cutsLeft = Number.MAX_SAFE_INTEGER;
  proxy.mode = 'cut-at-answer';
  await t.throwsAsync(ledger.open(opened(tenantId, past)), { instanceOf: PlatformError });
  t.like(await countsOf(tenantId), { usage_rows: 2 }, 'its row was written');
  proxy.mode = 'open';
  await ledger.sweep();
  await ledger.withdraw(kept);
  await recordUnrecorded(t);
  t.deepEqual(await countsOf(tenantId), nothing);
});
