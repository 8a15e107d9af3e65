// Reads past slonik: many at once on few connections, each with its own tenant.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import type { ExecutionContext } from 'ava';
import pg from 'pg';
import { ignoreIdleLosses } from '../../../../src/infra/storage/pool.js';
import { z } from 'zod';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { openHotReads, StoreError } from '../../../../src/infra/storage/index.js';
import type { HotReads, HotReadsOptions } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';

const database = databaseOfFile(test);
const tenants = Array.from({ length: 10 }, () => randomUUID());
let owner: pg.Pool;

test.serial.before(async () => {
  owner = new pg.Pool({ connectionString: database.url });
  ignoreIdleLosses(owner);
  database.atEnd(() => owner.end());
  await owner.query(`
    create table facts (tenant_id uuid, id uuid, amount bigint, at timestamptz, primary key (tenant_id, id));
    alter table facts enable row level security;
    grant select on facts to troupe_app;
    create policy tenant on facts to troupe_app using (tenant_id = current_tenant())`);
  for (const tenant of tenants) {
    await owner.query("insert into facts values ($1, $2, 42, '2026-01-02T03:04:05Z')", [
      tenant,
      randomUUID(),
    ]);
  }
});

function open(t: ExecutionContext, options: Partial<HotReadsOptions> = {}): HotReads {
  const hot = openHotReads({ databaseUrl: database.url, time: systemTime, ...options });
  t.teardown(() => hot.close());
  return hot;
}

/** Forgets the first wall on purpose: only the row policy tells tenants apart. */
const allFacts = {
  name: 'all_facts',
  text: 'select tenant_id, amount, at from facts',
  row: z.object({ tenant_id: z.string(), amount: z.number(), at: z.date() }),
};
const failing = {
  name: 'failing',
  text: 'select 1 / (amount - 42) as never from facts',
  row: z.object({ never: z.number() }),
};

test('interleaved reads of many tenants on one connection each see only their tenant', async (t) => {
  const hot = open(t, { connectionsMax: 1 });
  const order = Array.from({ length: 500 }, (_, index) => tenants[(index * 7 + (index >> 3)) % 10] ?? '');
  const answers = await Promise.all(order.map((tenant) => hot.inTenant(tenantScope(tenant), allFacts, [])));
  for (const [index, rows] of answers.entries()) {
    t.deepEqual(rows, [{ tenant_id: order[index] ?? '', amount: 42, at: new Date('2026-01-02T03:04:05Z') }]);
  }
});

test('a failing read fails alone on its connection', async (t) => {
  const hot = open(t, { connectionsMax: 1 });
  const results = await Promise.allSettled(
    tenants.flatMap((tenant) => [
      hot.inTenant(tenantScope(tenant), allFacts, []),
      hot.inTenant(tenantScope(tenant), failing, []),
    ]),
  );
  for (const [index, result] of results.entries()) {
    t.is(result.status, index % 2 === 0 ? 'fulfilled' : 'rejected');
    if (result.status === 'rejected') t.like(result.reason, { failure: 'invalid-value', sqlState: '22012' });
  }
});

test("the directory is read without a tenant and does not reach tenants' tables", async (t) => {
  const hot = open(t);
  const role = { name: 'role', text: 'select current_user as role', row: z.object({ role: z.string() }) };
  t.deepEqual(await hot.directory(role, []), [{ role: 'troupe_directory' }]);
  const error = await t.throwsAsync(hot.directory(allFacts, []), { instanceOf: StoreError });
  t.like(error, { failure: 'forbidden' });
});

test('a row of an undeclared shape is refused without its values in the message', async (t) => {
  const hot = open(t);
  const wrong = {
    name: 'wrong',
    text: 'select tenant_id from facts',
    row: z.object({ tenant_id: z.number() }),
  };
  const [tenant = ''] = tenants;
  const error = await t.throwsAsync(hot.inTenant(tenantScope(tenant), wrong, []), { instanceOf: StoreError });
  t.like(error, { failure: 'unexpected-row' });
  t.false(error.message.includes(tenant));
});

test('reads continue after their connections were ended', async (t) => {
  const url = new URL(database.url);
  url.searchParams.set('application_name', 'reader_under_fire');
  const hot = open(t, { databaseUrl: url.href, connectionsMax: 2 });
  const [tenant = ''] = tenants;
  const killed: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const reads = Array.from({ length: 50 }, () => hot.inTenant(tenantScope(tenant), allFacts, []));
    const kill = owner.query<{ pid: number }>(`select pid, pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'reader_under_fire' and datname = current_database()`);
    const results = await Promise.allSettled([...reads, kill]);
    killed.push(...(await kill).rows.map(({ pid }) => pid));
    for (const result of results) {
      // After two ended connections in a row, a read fails as retryable.
      if (result.status === 'rejected') t.like(result.reason, { failure: 'unavailable', retryable: true });
    }
  }
  // Told to end is not yet ended: both connections might still end under the one read that follows.
  await eventually(async () => {
    const left = await owner.query('select from pg_stat_activity where pid = any($1)', [killed]);
    return left.rowCount === 0;
  });
  t.is((await hot.inTenant(tenantScope(tenant), allFacts, [])).length, 1);
});

test('after the database ended all connections, the first read of each succeeds', async (t) => {
  const url = new URL(database.url);
  url.searchParams.set('application_name', 'reader_after_restart');
  const hot = open(t, { databaseUrl: url.href, connectionsMax: 4 });
  const [tenant = ''] = tenants;
  const everywhere = () =>
    Promise.all(Array.from({ length: 20 }, () => hot.inTenant(tenantScope(tenant), allFacts, [])));
  await everywhere();
  await owner.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'reader_after_restart' and datname = current_database()`);
  await eventually(async () => {
    const left = await owner.query(
      `select from pg_stat_activity where application_name = 'reader_after_restart'`,
    );
    return left.rowCount === 0;
  });
  t.is((await everywhere()).length, 20);
});

test('a plan invalidated by a migration is made again', async (t) => {
  const hot = open(t, { connectionsMax: 1 });
  await owner.query('create table shapes (one int); grant select on shapes to troupe_directory');
  await owner.query('insert into shapes values (1)');
  const shapes = { name: 'shapes', text: 'select * from shapes', row: z.record(z.string(), z.unknown()) };
  t.deepEqual(await hot.directory(shapes, []), [{ one: 1 }]);
  await owner.query('alter table shapes add column two int default 2');
  t.deepEqual(await hot.directory(shapes, []), [{ one: 1, two: 2 }]);
});

test('a silent connection ends the read as unavailable', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const databaseUrl = `${proxy.url}?connect_timeout=3`;
  const hot = open(t, { databaseUrl, statementTimeoutMs: 1_000, connectionsMax: 1 });
  const [tenant = ''] = tenants;
  t.is((await hot.inTenant(tenantScope(tenant), allFacts, [])).length, 1);
  proxy.mode = 'silent';
  const read = hot.inTenant(tenantScope(tenant), allFacts, []);
  const error = await t.throwsAsync(read, { instanceOf: StoreError });
  t.like(error, { failure: 'unavailable', retryable: true });
});

test('reads beyond the waiting bound are refused at once', async (t) => {
  const hot = open(t, { connectionsMax: 1, inFlightMax: 5 });
  const [tenant = ''] = tenants;
  const results = await Promise.allSettled(
    Array.from({ length: 8 }, () => hot.inTenant(tenantScope(tenant), allFacts, [])),
  );
  t.is(results.filter(({ status }) => status === 'fulfilled').length, 5);
});

test('a plan made for an empty table is not kept while the table fills', async (t) => {
  // So wide that PostgreSQL expects few of them: then each index looks as good as the key.
  const columns = Array.from({ length: 40 }, (_, index) => `column_${index} text`).join(', ');
  await owner.query(`
    create table entries (tenant_id uuid, id uuid, place int, ${columns}, primary key (tenant_id, id))
      with (autovacuum_enabled = off);
    create index entries_place on entries (tenant_id, place);
    grant select on entries to troupe_app`);
  const entry = {
    name: 'entry',
    text: 'select place from entries where tenant_id = $1 and id = $2',
    row: z.object({ place: z.number() }),
  };
  const tenant = tenants[0] ?? '';
  let nowMs = 0;
  const hot = open(t, { time: { ...systemTime, monotonicMs: () => nowMs }, connectionsMax: 1 });
  const read = () => hot.inTenant(tenantScope(tenant), entry, [tenant, randomUUID()]);
  // After five PostgreSQL keeps a plan for all values.
  for (let count = 0; count < 10; count += 1) await read();
  await owner.query(
    `insert into entries (tenant_id, id, place, column_0)
      select $1, gen_random_uuid(), place, repeat('x', 1000) from generate_series(1, 5000) place`,
    [tenant],
  );
  nowMs += 2_001;
  await read();
  await hot.close();
  const listed = await eventually(async () => {
    const { rows } = await owner.query<{ idx_scan: string; idx_tup_read: string }>(
      `select sum(idx_scan) as idx_scan, sum(idx_tup_read) as idx_tup_read from pg_stat_user_indexes
       where relname = 'entries'`,
    );
    return Number(rows[0]?.idx_scan) >= 11 ? Number(rows[0]?.idx_tup_read) : undefined;
  });
  t.is(listed, 0, 'no row of the tenant was looked at but the one that was asked for');
});
