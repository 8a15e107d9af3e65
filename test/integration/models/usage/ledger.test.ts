// The ledger of model calls on a real database, with the connection cut at the critical moments.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type pg from 'pg';
import { logTo } from '../../../support/builders/platform.js';
import { systemRandom, systemTime, type Time } from '../../../../cluster/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { openBatchWriters, openStore } from '../../../../src/infra/storage/index.js';
import { Ledger, ledgerRows, type OpenedRow } from '../../../../src/models/usage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';
import { call, closed, opened } from '../../../support/database/usage-rows.js';

const database = databaseOfFile(test);
let owner: pg.Client;

test.serial.before(async () => {
  owner = await ownerView(database.url);
  database.atEnd(() => owner.end());
});

async function ledgerOn(
  t: ExecutionContext,
  databaseUrl = database.url,
  time: Time = systemTime,
  isGone: (processId: string) => boolean = () => false,
  report: (attempted: string, error: unknown) => void = (attempted, error) => t.log(attempted, error),
) {
  const store = await openStore({ databaseUrl });
  const writers = openBatchWriters({ databaseUrl, time, random: systemRandom, statementTimeoutMs: 1_000 });
  t.teardown(async () => {
    await writers.close();
    await store.close();
  });
  return new Ledger({ writers, rows: ledgerRows(store), time, log: logTo(report) }, { isGone });
}

async function newTenant(): Promise<string> {
  const store = await openStore({ databaseUrl: database.url });
  try {
    return (await insertTenant(store)).tenantId;
  } finally {
    await store.close();
  }
}

/** The sums of the call rows, and the same from their hours. */
async function toldOf(tenantId: string) {
  const sums = `sum(input_tokens)::int as input, sum(output_tokens)::int as output,
    sum(response_time_ms)::float8 as ms, sum(cached_tokens)::int as cached`;
  const { rows } = await owner.query(
    `select date_trunc('hour', started_at, 'UTC') as hour, model, status, count(*)::int as calls, ${sums}
     from calls where tenant_id = $1 group by 1, 2, 3 order by 1, 2, 3`,
    [tenantId],
  );
  const hours = await owner.query(
    `select hour, model, status, sum(calls)::int as calls, ${sums}
     from call_hours where tenant_id = $1 and calls > 0 group by 1, 2, 3 order by 1, 2, 3`,
    [tenantId],
  );
  return { rows, hours: hours.rows };
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

test('rows of many tenants are recorded together, in the month of their opening, however often repeated', async (t) => {
  const ledger = await ledgerOn(t);
  const tenants = await Promise.all([newTenant(), newTenant()]);
  const rows = Array.from({ length: 200 }, (_, at) => opened(tenants[at % 2] ?? ''));
  await Promise.all(rows.map((row) => ledger.open(row)));
  await Promise.all(rows.map((row) => ledger.open(row)));
  await Promise.all([...rows, ...rows].map((row) => ledger.close(closed(row))));
  await Promise.all(rows.map((row) => ledger.close(closed(row, { input_tokens: 999 }))));
  for (const tenantId of tenants) t.deepEqual(await months(tenantId), { '2026-11-01': 100 * 15 });
});

test("usage of a tenant's own key is recorded and not counted", async (t) => {
  const ledger = await ledgerOn(t);
  const tenantId = await newTenant();
  const row = opened(tenantId, { payer: 'tenant' });
  await ledger.open(row);
  await ledger.close(closed(row));
  t.deepEqual(await months(tenantId), {});
  t.is((await rowsOf(tenantId))[0]?.input, 10);
});

test('an unclosed row gets its estimate once after its deadline, and says so', async (t) => {
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

test('an unavailable store refuses the opening with 503, and accepts the closing when it is back', async (t) => {
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

test('a lost answer of the store does not change the sums', async (t) => {
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

test('an attempt whose opening PostgreSQL lost is recorded whole by its closing, counted and reported once', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const ledger = await ledgerOn(t);
  const impatient = await ledgerOn(t, proxy.url, fastTime);
  const tenantId = await newTenant();
  const [lost, kept, late] = [opened(tenantId), opened(tenantId), opened(tenantId)];
  await Promise.all([lost, kept, late].map((row) => ledger.open(row)));
  for (const { attempt_id } of [lost, late]) {
    await owner.query('delete from usage_rows where tenant_id = $1 and attempt_id = $2', [
      tenantId,
      attempt_id,
    ]);
  }
  const told = { response_time_ms: 7, input_preview: 'asked', output_preview: 'answered' };
  for (let round = 0; round < 2; round += 1) {
    await Promise.all([lost, kept].map((row) => ledger.close(closed(row), told, row)));
  }
  proxy.mode = 'down';
  await t.throwsAsync(impatient.close(closed(late), told, late), { instanceOf: PlatformError });
  proxy.mode = 'open';
  await impatient.sweep();
  const row = { outcome: 'completed', usage_source: 'reported', input: 10, output: 5, cost: 0 };
  t.deepEqual(await rowsOf(tenantId), [row, row, row]);
  t.deepEqual(await months(tenantId), { '2026-11-01': 3 * 15 });
  const { rows: calls, hours } = await toldOf(tenantId);
  t.is(calls[0]?.calls, 3);
  t.deepEqual(hours, calls);
  const { rows: whole } = await owner.query(
    'select call_id, month::text, input_estimate::int as estimate from usage_rows where attempt_id = $1',
    [lost.attempt_id],
  );
  t.deepEqual(whole, [{ call_id: lost.call_id, month: lost.month, estimate: lost.input_estimate }]);
});

test('an attempt under the id of another is reported, for no row holds its tokens', async (t) => {
  const reported: string[] = [];
  const report = (_: string, error: unknown) => void reported.push(String(error));
  const ledger = await ledgerOn(t, database.url, systemTime, () => false, report);
  const tenantId = await newTenant();
  const first = opened(tenantId);
  await ledger.open(first);
  for (let round = 0; round < 2; round += 1) await ledger.close(closed(first), undefined, first);
  const left = opened(tenantId, { deadline_at: '2026-11-01T00:00:00Z' });
  await ledger.open(left);
  await ledger.sweep();
  await ledger.close(closed(left), undefined, left);
  t.deepEqual(reported, [], 'neither a repeated closing nor one after the estimate');
  const { attempt_id } = first;
  const second = opened(tenantId, { attempt_id, opened_at: '2026-12-01T00:00:00Z' });
  await ledger.open(second);
  await ledger.close(closed(second, { input_tokens: 11 }), undefined, second);
  t.is(reported.length, 1);
  t.true(reported[0]?.includes(attempt_id) && reported[0].includes('11 input'), reported[0]);
  t.deepEqual(await months(tenantId), { '2026-11-01': 15 + 77 });
});

test('an attempt without an opening or a tenant is closed without usage', async (t) => {
  const ledger = await ledgerOn(t);
  const [gone, there] = [await newTenant(), await newTenant()];
  const [left, never] = [opened(gone), opened(there)];
  await ledger.open(left);
  await owner.query('delete from tenants where id = $1', [gone]);
  await ledger.close(closed(left), undefined, left);
  await ledger.withdraw(never);
  for (const tenantId of [gone, there]) {
    t.deepEqual(await rowsOf(tenantId), []);
    t.deepEqual(await months(tenantId), {});
  }
});

test('calls are recorded once, and their hours count each once, however often repeated', async (t) => {
  const ledger = await ledgerOn(t);
  const tenants = await Promise.all([newTenant(), newTenant()]);
  const rows = Array.from({ length: 300 }, (_, at) =>
    call(tenants[at % 2] ?? '', {
      started_at: new Date(Date.UTC(2026, 10, 1 + (at % 3) * 40, 7, at % 60)).toISOString(),
      status: at % 5 === 0 ? 'error' : 'success',
      cached_tokens: at % 7,
      agent_id: at % 2 === 0 ? null : randomUUID(),
    }),
  );
  await Promise.all([...rows, ...rows].map((row) => ledger.record(row)));
  await Promise.all(rows.map((row) => ledger.record({ ...row, input_tokens: 999 })));
  for (const tenantId of tenants) {
    const { rows: told, hours } = await toldOf(tenantId);
    t.is(
      told.reduce((sum, { calls }) => sum + calls, 0),
      150,
    );
    t.deepEqual(hours, told);
  }
});

test('a call completed by its first attempt is recorded once with the closing, however often repeated', async (t) => {
  const ledger = await ledgerOn(t);
  const tenantId = await newTenant();
  const words = [
    'plain',
    'NULL',
    '',
    'a "b" {c},d',
    String.raw`back\slash\"`,
    'two\nlines',
    "o'clock",
    'ünï ✓',
  ];
  const rows = words.map(() => opened(tenantId));
  await Promise.all(rows.map((row) => ledger.open(row)));
  const told = words.map((word) => ({
    response_time_ms: 7,
    input_preview: word,
    output_preview: `>${word}`,
  }));
  for (let round = 0; round < 2; round += 1) {
    await Promise.all(rows.map((row, at) => ledger.close(closed(row), told[at])));
  }
  const { rows: calls } = await owner.query(
    'select call_id, input_preview, output_preview, input_tokens::int, attempts from calls where tenant_id = $1',
    [tenantId],
  );
  t.deepEqual(
    Object.fromEntries(calls.map(({ call_id: id, ...call }) => [id, call])),
    Object.fromEntries(
      rows.map(({ call_id: id }, at) => [
        id,
        { input_preview: words[at], output_preview: `>${words[at]}`, input_tokens: 10, attempts: 1 },
      ]),
    ),
  );
  t.is((await toldOf(tenantId)).hours[0]?.calls, words.length);
  t.deepEqual(await months(tenantId), { '2026-11-01': 15 * words.length });
});

test('a call that the store cannot accept now is recorded later and refuses nobody', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const ledger = await ledgerOn(t, proxy.url, fastTime);
  const tenantId = await newTenant();
  proxy.mode = 'down';
  await ledger.record(call(tenantId));
  proxy.mode = 'open';
  await ledger.sweep();
  t.is((await toldOf(tenantId)).hours[0]?.calls, 1);
});

test('a call of a deleted tenant is dropped and delays nobody', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const ledger = await ledgerOn(t, proxy.url, fastTime);
  const [gone, there] = [await newTenant(), await newTenant()];
  proxy.mode = 'down';
  await ledger.record(call(gone));
  await ledger.record(call(there));
  await owner.query('delete from tenants where id = $1', [gone]);
  proxy.mode = 'open';
  await ledger.sweep();
  t.deepEqual((await toldOf(gone)).rows, []);
  t.is((await toldOf(there)).hours[0]?.calls, 1);
});

test('open rows of a gone process are closed before their deadline, and its call is recorded whole', async (t) => {
  const ledger = await ledgerOn(t, database.url, systemTime, (id) => id === 'the dead one');
  const tenantId = await newTenant();
  const session_id = randomUUID();
  const first = opened(tenantId, { process_id: 'the dead one', session_id, model: 'sim.first' });
  const second = { ...first, attempt_id: randomUUID(), attempt_number: 2, model: 'sim.second' };
  const running = opened(tenantId, { process_id: 'the living one' });
  for (const row of [first, second, running]) await ledger.open(row);
  await ledger.close(closed(first, { outcome: 'failed', cache_read_tokens: 3 }));
  const twin = await ledgerOn(t, database.url, systemTime, (id) => id === 'the dead one');
  await Promise.all([ledger.sweep(), twin.sweep()]);
  t.deepEqual(
    (await rowsOf(tenantId)).map(({ outcome }) => String(outcome)).toSorted((a, b) => a.localeCompare(b)),
    ['failed', 'null', 'orphaned'],
  );
  t.deepEqual(await months(tenantId), { '2026-11-01': 15 + 77 });
  const { rows } = await owner.query(
    `select call_id, session_id, first_model, model, status, failure, attempts, input_tokens::int as input,
       output_tokens::int as output, cached_tokens::int as cached from calls where tenant_id = $1`,
    [tenantId],
  );
  t.deepEqual(rows, [
    {
      call_id: first.call_id,
      session_id,
      first_model: 'sim.first',
      model: 'sim.second',
      status: 'error',
      failure: 'orphaned',
      attempts: 2,
      input: 80,
      output: 12,
      cached: 3,
    },
  ]);
  t.is((await toldOf(tenantId)).hours[0]?.calls, 1);
});

/** Deadlines pass ten times as fast, so that the test waits less for an unavailable store. */
const fastTime: Time = { ...systemTime, after: (delayMs, action) => systemTime.after(delayMs / 10, action) };

test('a call whose process died between its last closing and its record is recorded whole once', async (t) => {
  const tenantId = await newTenant();
  const ledger = await ledgerOn(t);
  // Past by the clock of this test alone: the sweeps of the other tests do not look at these calls.
  const past = { deadline_at: '2998-12-01T00:03:00Z' };
  const open = async (changes: Partial<OpenedRow>): Promise<OpenedRow> => {
    const row = opened(tenantId, { ...past, ...changes });
    await ledger.open(row);
    return row;
  };
  const failed = { outcome: 'failed', stop_reason: null, failure: 'server' } as const;
  // Answered at its second attempt; failed at once; recorded; its second attempt still open.
  const [answered, refused, told, running] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  for (const call_id of [answered, refused, told, running]) {
    await ledger.close(closed(await open({ call_id, model: 'sim.fail' }), failed));
  }
  const later = { attempt_number: 2, opened_at: '2026-12-01T00:00:02Z' };
  await ledger.close(closed(await open({ call_id: answered, ...later })));
  await ledger.record(call(tenantId, { call_id: told, status: 'error', failure: 'server' }));
  await open({ call_id: running, ...later, deadline_at: '2999-01-01T00:00:00Z' });
  const at = new ManualTime('2998-12-01T00:04:00Z');
  for (const again of [await ledgerOn(t, database.url, at), await ledgerOn(t, database.url, at)]) {
    await again.sweep();
  }
  const { rows } = await owner.query(
    `select call_id, model, first_model, status, failure, attempts, input_tokens::int as input
     from calls where tenant_id = $1 and input_preview = ''`,
    [tenantId],
  );
  const byCall = (one: { call_id: string }, other: { call_id: string }): number =>
    one.call_id < other.call_id ? -1 : 1;
  const expected = [
    { call_id: answered, model: 'sim.echo', status: 'success', failure: null, attempts: 2, input: 20 },
    { call_id: refused, model: 'sim.fail', status: 'error', failure: 'server', attempts: 1, input: 10 },
  ];
  t.deepEqual(rows.sort(byCall), expected.map((one) => ({ ...one, first_model: 'sim.fail' })).sort(byCall));
  const { hours } = await toldOf(tenantId);
  t.is(
    hours.reduce((sum: number, { calls }: { calls: number }) => sum + calls, 0),
    3,
    'each is counted in its hour once',
  );
});
