import { randomUUID } from 'node:crypto';
import test from 'ava';
import { logTo } from '../../../support/builders/platform.js';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { openBatchWriters, openStore } from '../../../../src/infra/storage/index.js';
import { Ledger, type OpenedRow } from '../../../../src/models/usage/index.js';
import { ledgerTarget, nothingRecorded } from '../../../../src/models/usage/usage.store.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { closed, opened } from '../../../support/database/usage-rows.js';

const database = databaseOfFile(test);

test('a row is closed by its key among hundreds of open ones, also with a plan made for empty tables', async (t) => {
  const databaseUrl = database.url;
  const store = await openStore({ databaseUrl });
  const { tenantId } = await insertTenant(store);
  const writers = openBatchWriters({ databaseUrl, time: systemTime, random: systemRandom });
  const ledger = new Ledger({ writers, store, time: systemTime, log: logTo(t.log) });
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
});

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
