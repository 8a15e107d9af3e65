import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { logTo } from '../../../support/builders/platform.js';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { openBatchWriters, openStore } from '../../../../src/infra/storage/index.js';
import { Ledger, ledgerRows, type OpenedRow } from '../../../../src/models/usage/index.js';
import { ledgerTarget, nothingRecorded } from '../../../../src/models/usage/usage.store.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { call, closed, opened } from '../../../support/database/usage-rows.js';

const database = databaseOfFile(test);

// Alone: it counts what all statements read.
test.serial(
  'a row is closed by its key among hundreds of open ones, also with a plan made for empty tables',
  async (t) => {
    const databaseUrl = database.url;
    const store = await openStore({ databaseUrl });
    const { tenantId } = await insertTenant(store);
    const writers = openBatchWriters({ databaseUrl, time: systemTime, random: systemRandom });
    const ledger = new Ledger({ writers, rows: ledgerRows(store), time: systemTime, log: logTo(t.log) });
    const first = opened(tenantId);
    await ledger.open(first);
    await ledger.close(closed(first));
    const [staying, ending] = [400, 200];
    const openedAt = (at: number): OpenedRow =>
      opened(tenantId, { opened_at: new Date(Date.UTC(2026, 10, 20) + at).toISOString() });
    await Promise.all(Array.from({ length: staying }, (_, at) => ledger.open(openedAt(at))));
    const rows = Array.from({ length: ending }, (_, at) => openedAt(staying + at));
    await Promise.all(rows.map((row) => ledger.open(row)));
    // Alone and together, which are two statements with a plan each.
    for (const [at, row] of rows.entries()) {
      if (at < ending / 2) await ledger.close(closed(row));
      else if (at % 2 === 0)
        await Promise.all(rows.slice(at, at + 2).map((each) => ledger.close(closed(each))));
    }
    // Reads appear in the statistics at the latest when connections end.
    await writers.close();
    await store.close();
    const owner = await ownerView(databaseUrl);
    t.teardown(() => owner.end());
    const reads = async (): Promise<{ scans: number; rows: number }> => {
      const { rows: found } = await owner.query<{ scans: number; rows: number }>(
        `select sum(idx_scan)::int as scans,
         (sum(idx_tup_read) + (select seq_tup_read from pg_stat_user_tables where relname = 'usage_rows'))::int as rows
       from pg_stat_user_indexes where relname = 'usage_rows'`,
      );
      return found[0] ?? { scans: 0, rows: 0 };
    };
    await eventually(async () => (await reads()).scans >= ending);
    const read = (await reads()).rows;
    t.true(read < 10 * ending, `${read} rows were read to close ${ending}`);
  },
);

test('openings omit the parts that closings need, and a batch with a closing includes them', (t) => {
  const row = opened(randomUUID());
  const closing = { ...closed(row), ...nothingRecorded };
  const short = ledgerTarget.shorter?.([row, row]);
  t.regex(short?.text ?? '', /^insert into usage_rows/);
  t.notRegex(short?.text ?? '', /quota_months|calls/);
  t.is(ledgerTarget.shorter?.([row, closing]), undefined);
});

test('openings are committed without a flush, and a batch with a closing is flushed', async (t) => {
  const owner = await ownerView(database.url);
  t.teardown(() => owner.end());
  const store = await openStore({ databaseUrl: database.url });
  const { tenantId } = await insertTenant(store);
  await store.close();
  const row = opened(tenantId);
  const setting = async (): Promise<string> => {
    const { rows } = await owner.query<{ synchronous_commit: string }>('show synchronous_commit');
    return rows[0]?.synchronous_commit ?? '';
  };
  const flushes = async (rows: Parameters<typeof ledgerTarget.values>[0]): Promise<string> => {
    const { text, values } = ledgerTarget.shorter?.(rows) ?? {
      text: ledgerTarget.text,
      values: ledgerTarget.values(rows),
    };
    await owner.query('begin');
    await owner.query(text, values);
    const flushed = await setting();
    await owner.query('rollback');
    return flushed;
  };
  const closing = { ...closed(row), ...nothingRecorded };
  t.is(await setting(), 'on');
  t.is(await flushes([row]), 'off');
  t.is(await flushes([row, opened(tenantId)]), 'off');
  t.is(await flushes([row, closing]), 'on');
  t.is(await flushes([closing]), 'on');
});

test('a closing alone adds the same to every counter and sum as in a batch', async (t) => {
  const owner = await ownerView(database.url);
  t.teardown(() => owner.end());
  const store = await openStore({ databaseUrl: database.url });
  const [alone, together] = [(await insertTenant(store)).tenantId, (await insertTenant(store)).tenantId];
  await store.close();
  const agentId = randomUUID();
  const outcomes = [
    { cost: 0.25, agent: agentId, ...recorded },
    { cost: 0.5, agent: agentId, ...recorded },
    { cost: 0.125, agent: null, ...nothingRecorded },
    { cost: 0, agent: null, outcome: 'failed', failure: 'rate_limit', input_tokens: 0, output_tokens: 0 },
  ] as const;
  const missing: unknown[] = [];
  for (const [tenantId, isAlone] of [
    [alone, true],
    [together, false],
  ] as const) {
    for (const { agent, ...outcome } of outcomes) {
      const row = opened(tenantId, { agent_id: agent });
      const rows = [{ ...nothingRecorded, ...closed(row), ...outcome }];
      const open = ledgerTarget.shorter?.([row]);
      await owner.query(open?.text ?? '', open?.values);
      const short = ledgerTarget.shorter?.(rows);
      const [text, values] = isAlone
        ? [short?.text ?? '', short?.values]
        : [ledgerTarget.text, ledgerTarget.values(rows)];
      missing.push((await owner.query(text, values)).rows.length);
      const { rows: repeated } = await owner.query<{ attempt_id: string }>(text, values);
      t.deepEqual(repeated, [{ attempt_id: row.attempt_id }], 'a repeat closes nothing, and says so');
    }
  }
  t.deepEqual(missing, [0, 0, 0, 0, 0, 0, 0, 0]);
  const all = async (tenantId: string): Promise<unknown> => {
    const tables = {
      quota_months: 'month',
      spent_costs: 'day, agent_id',
      call_hours: 'hour, agent_id, status, failure',
      calls: 'started_at, cost',
    };
    const found: Record<string, unknown> = {};
    for (const [table, order] of Object.entries(tables)) {
      const { rows } = await owner.query(
        `select to_jsonb(t) - 'tenant_id' - 'call_id' as row from ${table} t where tenant_id = $1 order by ${order}`,
        [tenantId],
      );
      found[table] = rows;
    }
    return found;
  };
  const booked = await all(alone);
  t.deepEqual(booked, await all(together));
  t.like(booked, { quota_months: [{ row: { used: 45 } }] });
});

/** A ledger, a tenant, and the owner's connection, which sees all rows. */
async function ledgerWithOwner(t: ExecutionContext) {
  const databaseUrl = database.url;
  const [store, owner] = [await openStore({ databaseUrl }), await ownerView(databaseUrl)];
  const writers = openBatchWriters({ databaseUrl, time: systemTime, random: systemRandom });
  t.teardown(async () => {
    await writers.close();
    await store.close();
    await owner.end();
  });
  const { tenantId } = await insertTenant(store);
  const told: string[] = [];
  const log = logTo((attempted) => void told.push(attempted));
  return {
    ledger: new Ledger({ writers, rows: ledgerRows(store), time: systemTime, log }),
    owner,
    tenantId,
    told,
  };
}

const recorded = { response_time_ms: 7, input_preview: 'question', output_preview: 'answer' };

test('the closing of an attempt whose call has a row already counts that call no more, and delays no others', async (t) => {
  const { ledger, owner, tenantId, told } = await ledgerWithOwner(t);
  const rows = Array.from({ length: 9 }, () => opened(tenantId));
  const [first] = rows;
  if (first === undefined) return t.fail();
  await Promise.all(rows.map((row) => ledger.open(row)));
  await ledger.record(call(tenantId, { call_id: first.call_id, started_at: first.opened_at }));
  await Promise.all(rows.map((row) => ledger.close(closed(row), recorded, row)));
  const { rows: found } = await owner.query(
    `select (select count(*)::int from usage_rows where tenant_id = $1 and outcome = 'completed') as closed,
       (select count(*)::int from calls where tenant_id = $1) as calls,
       (select sum(calls)::int from call_hours where tenant_id = $1) as counted,
       (select sum(ledger_calls)::int from call_hours where tenant_id = $1) as billed,
       (select used::int from quota_months where tenant_id = $1) as used`,
    [tenantId],
  );
  t.deepEqual(found, [{ closed: 9, calls: 9, counted: 9, billed: 9, used: 9 * 15 }]);
  t.deepEqual(told, ['recording a model call']);
});

test('the table refuses negative amounts, so that no statement lowers a bill', async (t) => {
  const { ledger, owner, tenantId } = await ledgerWithOwner(t);
  const row = opened(tenantId);
  await ledger.open(row);
  for (const name of [
    'input_tokens',
    'cache_read_tokens',
    'cache_write_tokens',
    'output_tokens',
    'reasoning_tokens',
    'cost',
  ]) {
    await t.throwsAsync(
      owner.query(`update usage_rows set ${name} = -1 where attempt_id = $1`, [row.attempt_id]),
      { message: /usage_rows_amounts/ },
      name,
    );
  }
});
