// Months of calls that nobody keeps are dropped whole, beside traffic, by any number of nodes.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { openStore } from '../../../../src/infra/storage/index.js';
import { dropExpiredMonths } from '../../../../src/models/usage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { createDatabase } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { eventually } from '../../../support/clocks/eventually.js';

const now = new Date('2023-11-20T12:00:00Z');
const days = 400;

async function world(t: ExecutionContext) {
  const { url } = await createDatabase(t);
  const store = await openStore({ databaseUrl: url });
  const owner = await ownerView(url);
  t.teardown(async () => {
    await owner.end();
    await store.close();
  });
  const insert = (tenantId: string, at: string, by = owner) =>
    by.query(
      `insert into calls (tenant_id, started_at, call_id, call_source, provider, model, first_model, status, from_cache,
         attempts, input_tokens, output_tokens, cached_tokens, cache_creation_tokens, cost, response_time_ms,
         input_preview, output_preview)
       values ($1, $2, $3, 's', 'p', 'm', 'm', 'success', false, 1, 1, 1, 0, 0, 0, 1, '', '')`,
      [tenantId, at, randomUUID()],
    );
  const prepare = (month: string) => owner.query('select prepare_call_partitions($1)', [month]);
  const months = async (): Promise<readonly string[]> => {
    const { rows } = await owner.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'calls'::regclass order by 1`,
    );
    return rows.map(({ name }) => name);
  };
  const count = async (): Promise<number> => (await owner.query('select from calls')).rowCount ?? 0;
  return { url, store, owner, insert, prepare, months, count };
}

test('a month goes when its last row is kept no longer by its own tenant', async (t) => {
  const { store, owner, insert, prepare, months, count } = await world(t);
  const [one, long, short] = [
    await insertTenant(store),
    await insertTenant(store),
    await insertTenant(store),
  ];
  await owner.query(`update tenants set retention = '{"usage_days": 900}' where id = $1`, [long.tenantId]);
  await owner.query(`update tenants set retention = '{"usage_days": 30}' where id = $1`, [short.tenantId]);
  for (const at of ['2022-01-15', '2022-05-15', '2023-06-15']) await prepare(`${at}T00:00:00Z`);
  await insert(one.tenantId, '2022-01-31T23:59:59.999Z');
  await insert(one.tenantId, '2022-05-15T00:00:00Z');
  await insert(long.tenantId, '2022-05-16T00:00:00Z');
  await insert(short.tenantId, '2023-06-16T00:00:00Z');
  await insert(one.tenantId, '2023-07-16T00:00:00Z');
  t.true((await dropExpiredMonths(store, now, days)) > 0);
  const left = await months();
  for (const gone of ['calls_2022_01', 'calls_2022_02', 'calls_2022_08', 'calls_2023_06'])
    t.false(left.includes(gone), gone);
  for (const kept of ['calls_2022_05', 'calls_2023_07', 'calls_default']) t.true(left.includes(kept), kept);
  t.is(await count(), 3);
  // A late row of a month that is gone.
  await insert(one.tenantId, '2022-01-20T00:00:00Z');
  t.is(await count(), 4);
  const later = new Date('2023-11-30T00:00:00Z');
  await owner.query('delete from tenants where id = $1', [long.tenantId]);
  await dropExpiredMonths(store, later, days);
  t.false((await months()).includes('calls_2022_05'), 'with the tenant that kept it');
  t.is(await dropExpiredMonths(store, later, days), 0);
});

test('nodes drop at once while calls arrive; none is lost and none fails', async (t) => {
  const { url, store, insert, prepare, months, count } = await world(t);
  const { tenantId } = await insertTenant(store);
  for (let month = 1; month <= 9; month += 4) await prepare(`2021-0${month}-10T00:00:00Z`);
  await insert(tenantId, '2021-03-10T00:00:00Z');
  const writers = await Promise.all(Array.from({ length: 4 }, () => ownerView(url)));
  t.teardown(() => Promise.all(writers.map((writer) => writer.end())));
  let written = 0;
  const end = new AbortController();
  const traffic = writers.map(async (writer) => {
    while (!end.signal.aborted) {
      await insert(tenantId, '2023-11-20T11:00:00Z', writer);
      written += 1;
    }
  });
  await eventually(() => written > 20);
  const other = await openStore({ databaseUrl: url });
  t.teardown(() => other.close());
  await eventually(async () => {
    await Promise.all([dropExpiredMonths(store, now, days), dropExpiredMonths(other, now, days)]);
    return !(await months()).some((name) => name.startsWith('calls_2021'));
  });
  end.abort();
  await Promise.all(traffic);
  t.is(await count(), written);
});

test('a month that somebody reads is left for the next time, and nobody waits long', async (t) => {
  const { url, store, insert, prepare, months } = await world(t);
  const { tenantId } = await insertTenant(store);
  await prepare('2021-03-10T00:00:00Z');
  const reader = await ownerView(url);
  t.teardown(() => reader.end());
  await reader.query('begin');
  await reader.query('select from calls');
  t.is(await dropExpiredMonths(store, now, days), 0);
  await insert(tenantId, '2023-11-20T11:00:00Z');
  await reader.query('rollback');
  t.true((await dropExpiredMonths(store, now, days)) > 0);
  t.false((await months()).includes('calls_2021_03'));
});
