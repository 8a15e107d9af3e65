// The books of model calls on the real database, with the connection cut at the moments that matter.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type pg from 'pg';
import { systemRandom, systemTime, type Time } from '../../../cluster/index.js';
import { PlatformError } from '../../../src/errors.js';
import { openBatchWriters, openStore } from '../../../src/storage/index.js';
import { type ClosedRow, Ledger, type OpenedRow } from '../../../src/usage/index.js';
import { insertTenant } from '../../support/callers.js';
import { databaseOfFile } from '../../support/database.js';
import { ownerView } from '../../support/owner-view.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

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
  return new Ledger({ writers, store, time, report: (attempted, error) => t.log(attempted, error) });
}

async function newTenant(): Promise<string> {
  const store = await openStore({ databaseUrl: database.url });
  try {
    return (await insertTenant(store)).tenantId;
  } finally {
    await store.close();
  }
}

function opened(tenantId: string, changes: Partial<OpenedRow> = {}): OpenedRow {
  return {
    tenant_id: tenantId,
    attempt_id: randomUUID(),
    call_id: randomUUID(),
    attempt_number: 1,
    source: 'direct',
    key_id: null,
    user_id: null,
    vendor: 'sim',
    model: 'sim.echo',
    payer: 'platform',
    month: '2026-11-01',
    opened_at: '2026-11-30T23:59:59Z',
    deadline_at: '2999-01-01T00:00:00Z',
    input_estimate: 70,
    output_estimate: 7,
    cost_estimate: 0.5,
    ...changes,
  };
}

function closed({ tenant_id, attempt_id }: OpenedRow, changes: Partial<ClosedRow> = {}): ClosedRow {
  return {
    tenant_id,
    attempt_id,
    outcome: 'completed',
    closed_at: '2026-12-01T00:00:01Z',
    input_tokens: 10,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 5,
    reasoning_tokens: 0,
    cost: 0,
    usage_source: 'reported',
    stop_reason: 'stop',
    failure: null,
    vendor_request_id: null,
    first_signal_ms: 1,
    duration_ms: 2,
    ...changes,
  };
}

async function months(tenantId: string): Promise<Record<string, number>> {
  const { rows } = await owner.query<{ month: string; used: number }>(
    'select month::text, used::int from quota_months where tenant_id = $1',
    [tenantId],
  );
  return Object.fromEntries(rows.map(({ month, used }) => [month, used]));
}

async function rowsOf(tenantId: string) {
  const { rows } = await owner.query(
    `select outcome, usage_source, input_tokens::int as input, output_tokens::int as output, cost
     from usage_rows where tenant_id = $1 order by attempt_id`,
    [tenantId],
  );
  return rows;
}

test('rows of many tenants are booked together, each in the month of its opening, however often they are repeated', async (t) => {
  const ledger = await ledgerOn(t);
  const tenants = await Promise.all([newTenant(), newTenant()]);
  const rows = Array.from({ length: 200 }, (_, at) => opened(tenants[at % 2] ?? ''));
  await Promise.all(rows.map((row) => ledger.open(row)));
  await Promise.all(rows.map((row) => ledger.open(row)));
  await Promise.all([...rows, ...rows].map((row) => ledger.close(closed(row))));
  await Promise.all(rows.map((row) => ledger.close(closed(row, { input_tokens: 999 }))));
  for (const tenantId of tenants) t.deepEqual(await months(tenantId), { '2026-11-01': 100 * 15 });
});

test("what a tenant's own key paid for is booked and not counted", async (t) => {
  const ledger = await ledgerOn(t);
  const tenantId = await newTenant();
  const row = opened(tenantId, { payer: 'tenant' });
  await ledger.open(row);
  await ledger.close(closed(row));
  t.deepEqual(await months(tenantId), {});
  t.is((await rowsOf(tenantId))[0]?.input, 10);
});

test('a row that nobody closed gets its estimate after its deadline, once, and says so', async (t) => {
  const ledger = await ledgerOn(t);
  const tenantId = await newTenant();
  const left = opened(tenantId, { deadline_at: '2026-11-01T00:00:00Z' });
  const running = opened(tenantId);
  await ledger.open(left);
  await ledger.open(running);
  const twin = await ledgerOn(t);
  await Promise.all([ledger.sweep(), twin.sweep()]);
  await ledger.close(closed(left, { input_tokens: 1 }));
  t.deepEqual(await months(tenantId), { '2026-11-01': 77 });
  const rows = await rowsOf(tenantId);
  t.is(rows.filter(({ outcome }) => outcome === null).length, 1, 'what still runs is left alone');
  t.deepEqual(
    rows.find(({ outcome }) => outcome !== null),
    { outcome: 'orphaned', usage_source: 'estimated', input: 70, output: 7, cost: 0.5 },
  );
});

test('a store that is away refuses the opening with 503, and takes the closing when it is back', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const ledger = await ledgerOn(t, proxy.url, fastTime);
  const tenantId = await newTenant();
  const row = opened(tenantId);
  await ledger.open(row);
  proxy.mode = 'down';
  const refused = await t.throwsAsync(ledger.open(opened(tenantId)), { instanceOf: PlatformError });
  t.is(refused.code, 'service_unavailable');
  t.is(refused.retryAfterSeconds, 1);
  await t.throwsAsync(ledger.close(closed(row)), { instanceOf: PlatformError });
  proxy.mode = 'open';
  await ledger.sweep();
  t.deepEqual(await months(tenantId), { '2026-11-01': 15 });
  t.is((await rowsOf(tenantId)).length, 1);
});

test('an answer of the store that was lost changes nothing in the sums', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const ledger = await ledgerOn(t, proxy.url);
  const tenantId = await newTenant();
  const row = opened(tenantId);
  await ledger.open(row);
  proxy.cutsLeft = 1;
  proxy.mode = 'cut-at-answer';
  await ledger.close(closed(row));
  t.deepEqual(await months(tenantId), { '2026-11-01': 15 });
});

/** Deadlines pass ten times as fast, so that nobody waits for a store that is away. */
const fastTime: Time = { ...systemTime, after: (delayMs, action) => systemTime.after(delayMs / 10, action) };
