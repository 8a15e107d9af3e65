// Group commit against a real PostgreSQL, with the connection cut at the moments that matter.
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import pg from 'pg';
import { ignoreIdleLosses } from '../../../../src/infra/storage/pool.js';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { insertTarget, openBatchWriters, StoreError } from '../../../../src/infra/storage/index.js';
import type { BatchTarget, BatchWriters, InsertOutcome } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';

type Note = { tenant_id: string; id: string; score: number; body: unknown; at: Date };

const database = databaseOfFile(test);
let owner: pg.Pool;

const notes = insertTarget<Note>({
  table: 'notes',
  columns: { tenant_id: 'uuid', id: 'uuid', score: 'int8', body: 'jsonb', at: 'timestamptz' },
  key: ['tenant_id', 'id'],
  also: [
    `insert into note_counts (tenant_id, total) select tenant_id, count(*) from inserted group by tenant_id
     on conflict (tenant_id) do update set total = note_counts.total + excluded.total`,
  ],
});

test.serial.before(async () => {
  owner = new pg.Pool({ connectionString: database.url });
  ignoreIdleLosses(owner);
  database.atEnd(() => owner.end());
  await owner.query(`
    create table notes (
      tenant_id uuid, id uuid, score bigint not null check (score >= 0), body jsonb, at timestamptz not null,
      primary key (tenant_id, id));
    create index notes_title on notes ((body ->> 'title'));
    create table note_counts (tenant_id uuid primary key, total bigint not null);
    create table secrets_of_others (tenant_id uuid, id uuid, primary key (tenant_id, id));
    alter table notes enable row level security;
    alter table note_counts enable row level security;
    grant select, insert, update on notes, note_counts to troupe_writer;
    create policy writer on notes to troupe_writer using (true) with check (true);
    create policy writer on note_counts to troupe_writer using (true) with check (true)`);
});

function openWriters(
  t: ExecutionContext,
  databaseUrl = database.url,
  statementTimeoutMs = 3_000,
): BatchWriters {
  const writers = openBatchWriters({
    databaseUrl,
    time: systemTime,
    random: systemRandom,
    statementTimeoutMs,
  });
  t.teardown(() => writers.close());
  return writers;
}

function note(tenantId: string, changes: Partial<Note> = {}): Note {
  const at = new Date('2026-03-01T10:00:00.123Z');
  return {
    tenant_id: tenantId,
    id: randomUUID(),
    score: 1,
    body: { text: 'a "quoted" {text}' },
    at,
    ...changes,
  };
}

async function stored(tenantId: string): Promise<{ ids: string[]; counted: number }> {
  const rows = await owner.query<{ id: string }>('select id from notes where tenant_id = $1', [tenantId]);
  const counts = await owner.query<{ total: string }>('select total from note_counts where tenant_id = $1', [
    tenantId,
  ]);
  return { ids: rows.rows.map(({ id }) => id).sort(), counted: Number(counts.rows[0]?.total ?? 0) };
}

/** The same target, counting how many rows each statement carried. */
function counting(
  target: BatchTarget<Note, InsertOutcome>,
  sizes: number[],
): BatchTarget<Note, InsertOutcome> {
  return {
    ...target,
    values: (rows) => {
      sizes.push(rows.length);
      return target.values(rows);
    },
  };
}

test('a written row is committed when its promise resolves, and reads back unchanged', async (t) => {
  const tenant = randomUUID();
  const writer = openWriters(t).writer(notes);
  const bodies: unknown[] = [{ a: [1, { b: null }] }, ['x', 'y'], 'text', 7, null];
  for (const body of bodies) {
    const row = note(tenant, { body, score: 5 });
    t.is(await writer.write(row), 'inserted');
    const { rows } = await owner.query('select score, body, at from notes where id = $1', [row.id]);
    t.deepEqual(rows, [{ score: '5', body, at: row.at }]);
  }
});

test('a single row is sent at once, and rows during a commit go together in the next', async (t) => {
  const tenant = randomUUID();
  const sizes: number[] = [];
  const writer = openWriters(t).writer(counting(notes, sizes), { rowsMax: 100 });
  await writer.write(note(tenant));
  t.deepEqual(sizes, [1]);
  await Promise.all(Array.from({ length: 1_000 }, () => writer.write(note(tenant))));
  t.true(sizes.every((size) => size <= 100));
  t.true(sizes.length <= 12, `${sizes.length} statements`);
  t.is((await stored(tenant)).ids.length, 1_001);
});

test('rows of many tenants share a batch, and each tenant is counted separately', async (t) => {
  const tenants = [randomUUID(), randomUUID(), randomUUID()];
  const writer = openWriters(t).writer(notes);
  await Promise.all(tenants.flatMap((tenant) => [1, 2].map(() => writer.write(note(tenant)))));
  for (const tenant of tenants) t.is((await stored(tenant)).counted, 2);
});

test('a row that PostgreSQL refuses fails alone, and the others in the batch succeed', async (t) => {
  const tenant = randomUUID();
  const writer = openWriters(t).writer(notes);
  const rows = Array.from({ length: 60 }, (_, index) => note(tenant, { score: index === 17 ? -1 : index }));
  const results = await Promise.allSettled(rows.map((row) => writer.write(row)));
  for (const [index, result] of results.entries()) {
    if (index !== 17) t.is(result.status, 'fulfilled');
    else if (result.status === 'rejected') {
      t.true(result.reason instanceof StoreError);
      t.like(result.reason, { failure: 'check', constraint: 'notes_score_check', retryable: false });
    } else t.fail('the refused row was written');
  }
  const { ids, counted } = await stored(tenant);
  t.is(ids.length, 59);
  t.is(counted, 59);
});

test('a row whose value cannot be sent at all fails alone', async (t) => {
  const tenant = randomUUID();
  const writer = openWriters(t).writer(notes);
  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  const results = await Promise.allSettled(
    [{ text: 'fine' }, circular, { text: 'nul \u0000' }].map((body) => writer.write(note(tenant, { body }))),
  );
  t.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  );
});

test('a row that an index cannot hold fails alone', async (t) => {
  const tenant = randomUUID();
  const writer = openWriters(t).writer(notes);
  const titles = ['short', randomBytes(8_000).toString('hex'), 'another'];
  const results = await Promise.allSettled(
    titles.map((title) => writer.write(note(tenant, { body: { title } }))),
  );
  t.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  t.like(results[1], { reason: { failure: 'defect', sqlState: '54000' } });
  t.is((await stored(tenant)).counted, 2);
});

test('a row written twice is stored and counted once, and the second writer is informed', async (t) => {
  const tenant = randomUUID();
  const writer = openWriters(t).writer(notes);
  const row = note(tenant);
  t.deepEqual(await Promise.all([writer.write(row), writer.write(row)]), ['inserted', 'present']);
  t.is(await writer.write(row), 'present');
  t.deepEqual(await stored(tenant), { ids: [row.id], counted: 1 });
});

test('if the connection is lost between commit and answer, the row is stored once', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  const tenant = randomUUID();
  const writer = openWriters(t, proxy.url).writer(notes);
  t.teardown(() => proxy.close());
  await writer.write(note(tenant)); // the connection stands
  proxy.cutsLeft = 2;
  proxy.mode = 'cut-at-answer';
  const rows = [note(tenant), note(tenant)];
  t.deepEqual(await Promise.all(rows.map((row) => writer.write(row))), ['present', 'present']);
  const { ids, counted } = await stored(tenant);
  t.is(ids.length, 3);
  t.is(counted, 3);
});

test('if the connection is lost before PostgreSQL received the row, it is written again', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  const tenant = randomUUID();
  const writer = openWriters(t, proxy.url).writer(notes);
  t.teardown(() => proxy.close());
  await writer.write(note(tenant));
  proxy.cutsLeft = 1;
  proxy.mode = 'cut-at-question';
  t.is(await writer.write(note(tenant)), 'inserted');
  t.is((await stored(tenant)).counted, 2);
});

test("if PostgreSQL ends the writer's connections, everything written before and after arrives", async (t) => {
  const tenant = randomUUID();
  const url = new URL(database.url);
  url.searchParams.set('application_name', 'writer_under_fire'); // and not those of the other tests
  const writer = openWriters(t, url.href).writer(notes);
  const writes = Array.from({ length: 300 }, async () => writer.write(note(tenant)));
  for (let round = 0; round < 5; round += 1) {
    await owner.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'writer_under_fire' and datname = current_database()`);
    writes.push(...Array.from({ length: 100 }, async () => writer.write(note(tenant))));
  }
  await Promise.all(writes);
  const { ids, counted } = await stored(tenant);
  t.is(ids.length, 800);
  t.is(counted, 800);
});

test('a row without an answer to its commit ends at its deadline as unknown, and the writer continues', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  const tenant = randomUUID();
  const writers = openWriters(t, proxy.url, 1_000);
  t.teardown(() => proxy.close());
  await writers.writer(notes).write(note(tenant)); // the connection stands
  const writer = writers.writer(notes, { deadlineMs: 900 });
  proxy.mode = 'silent';
  const error = await t.throwsAsync(writer.write(note(tenant)), { instanceOf: StoreError });
  t.like(error, { failure: 'outcome-unknown', retryable: false });
  proxy.mode = 'open';
  proxy.cutAll();
  await eventually(
    async () =>
      writer.write(note(tenant)).then(
        () => true,
        () => false,
      ),
    { what: 'the writer writes again' },
  );
});

test('a row not sent by its deadline fails as unavailable and may be retried', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  const writer = openWriters(t, proxy.url).writer(notes, { deadlineMs: 300 });
  t.teardown(() => proxy.close());
  proxy.mode = 'down';
  const error = await t.throwsAsync(writer.write(note(randomUUID())), { instanceOf: StoreError });
  t.like(error, { failure: 'unavailable', retryable: true });
  proxy.mode = 'open';
});

test('a process that stands still past the deadline takes the answer that has come meanwhile', async (t) => {
  const sizes: number[] = [];
  const slow = counting(
    {
      ...notes,
      name: 'slow',
      text: 'select pg_sleep(0.2) where $1 = 1',
      values: () => [1],
      outcomes: () => ['inserted'],
    },
    sizes,
  );
  const writers = openWriters(t);
  await writers.writer(notes).write(note(randomUUID())); // the connection stands
  const writing = writers.writer(slow, { deadlineMs: 1_000 }).write(note(randomUUID()));
  await eventually(() => sizes.length === 1, { what: 'the row is in a statement' });
  // The statement leaves the process in the next turns of its loop.
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
  t.is(await writing, 'inserted');
});

test('a full writer refuses the next row at once', async (t) => {
  const tenant = randomUUID();
  const writer = openWriters(t).writer(notes, { depthMax: 10 });
  const accepted = Array.from({ length: 10 }, () => writer.write(note(tenant)));
  const error = await t.throwsAsync(writer.write(note(tenant)), { instanceOf: StoreError });
  t.like(error, { failure: 'overloaded', retryable: true });
  await Promise.all(accepted);
  t.is(writer.depth, 0);
});

test('large rows make small batches, and a writer with too many bytes refuses the next row', async (t) => {
  const tenant = randomUUID();
  const sizes: number[] = [];
  const large = { ...counting(notes, sizes), bytesOf: (): number => 400_000 };
  const writer = openWriters(t).writer(large, { depthBytesMax: 4_000_000 });
  const accepted = Array.from({ length: 10 }, () => writer.write(note(tenant)));
  const error = await t.throwsAsync(writer.write(note(tenant)), { instanceOf: StoreError });
  t.like(error, { failure: 'overloaded' });
  await Promise.all(accepted);
  t.deepEqual(sizes, [2, 2, 2, 2, 2]);
  t.is(await openWriters(t).writer(large, { depthBytesMax: 1 }).write(note(tenant)), 'inserted');
});

test('a row that waits for a lock delays neither its batch nor later rows', async (t) => {
  const tenant = randomUUID();
  const contested = note(tenant);
  const other = await owner.connect();
  try {
    await other.query('begin');
    await other.query("insert into notes values ($1, $2, 1, '{}', now())", [tenant, contested.id]);
    const writer = openWriters(t).writer(notes, { deadlineMs: 60_000 });
    const waiting = writer.write(contested);
    const besides = Array.from({ length: 5 }, () => writer.write(note(tenant)));
    t.deepEqual(
      await Promise.all(besides),
      Array.from({ length: 5 }, () => 'inserted'),
    );
    t.is(await writer.write(note(tenant)), 'inserted');
    await other.query('commit');
    t.is(await waiting, 'present');
  } finally {
    other.release();
  }
});

test('the writer cannot write a table without a grant', async (t) => {
  const writer = openWriters(t).writer(
    insertTarget<{ tenant_id: string; id: string }>({
      table: 'secrets_of_others',
      columns: { tenant_id: 'uuid', id: 'uuid' },
      key: ['tenant_id', 'id'],
    }),
  );
  const error = await t.throwsAsync(writer.write({ tenant_id: randomUUID(), id: randomUUID() }), {
    instanceOf: StoreError,
  });
  t.like(error, { failure: 'forbidden' });
});
