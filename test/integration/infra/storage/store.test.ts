// Transactions: commits, rollbacks, and the content of errors.
import { executionAsyncId } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import pg from 'pg';
import { ignoreIdleLosses } from '../../../../src/infra/storage/pool.js';
import { z } from 'zod';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { isUniqueViolation, openStore, sql, StoreError } from '../../../../src/infra/storage/index.js';
import type { Store, StoreSettings } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';

const database = databaseOfFile(test);
const nothing = sql.typeAlias('nothing');
let owner: pg.Pool;

test.serial.before(async () => {
  owner = new pg.Pool({ connectionString: database.url });
  ignoreIdleLosses(owner);
  database.atEnd(() => owner.end());
  await owner.query(`
    create table counters (tenant_id uuid, id uuid, amount int not null, primary key (tenant_id, id));
    alter table counters enable row level security;
    grant select, insert, update on counters to troupe_app;
    create policy tenant on counters to troupe_app
      using (tenant_id = current_tenant()) with check (tenant_id = current_tenant())`);
});

async function open(t: ExecutionContext, settings: Partial<StoreSettings> = {}): Promise<Store> {
  const store = await openStore({ databaseUrl: database.url, ...settings });
  t.teardown(() => store.close());
  return store;
}

async function failure(t: ExecutionContext, work: Promise<unknown>): Promise<StoreError> {
  const error = await t.throwsAsync(work, { instanceOf: StoreError });
  if (error === undefined) throw new Error('the store did not refuse');
  return error;
}

function addUser(store: Store, email: string): Promise<unknown> {
  return store.directory((tx) =>
    tx.query(nothing`insert into users (id, email) values (${randomUUID()}, ${email})`),
  );
}

async function amounts(tenantId: string): Promise<number[]> {
  const { rows } = await owner.query<{ amount: number }>(
    'select amount from counters where tenant_id = $1 order by amount',
    [tenantId],
  );
  return rows.map(({ amount }) => amount);
}

test('a unique violation names its constraint and hides the values', async (t) => {
  const store = await open(t);
  const email = `${randomUUID()}@example.com`;
  await addUser(store, email);
  const error = await failure(t, addUser(store, email.toUpperCase()));
  t.like(error, { failure: 'unique', constraint: 'users_email_key', retryable: false });
  t.true(isUniqueViolation(error, 'users_email_key'));
  t.false(isUniqueViolation(error, 'another'));
  t.false(inspect(error, { depth: null, showHidden: true }).toLowerCase().includes(email));
});

test('a value that its column cannot hold is refused without being quoted', async (t) => {
  const store = await open(t);
  const error = await failure(
    t,
    store.directory((tx) =>
      tx.any(sql.unsafe`select id from users where id = ${'a-secret-value'}::text::uuid`),
    ),
  );
  t.is(error.failure, 'invalid-value');
  t.false(inspect(error, { depth: null }).includes('a-secret-value'));
});

test('a row of an undeclared shape is refused', async (t) => {
  const store = await open(t);
  const error = await failure(
    t,
    store.directory((tx) => tx.one(sql.type(z.object({ n: z.string() }))`select 7 as n`)),
  );
  t.is(error.failure, 'unexpected-row');
});

test('counters, dates and times are returned as numbers, texts and dates', async (t) => {
  const store = await open(t);
  const row = z.object({ big: z.number(), day: z.string(), at: z.date(), exact: z.string() });
  const found = await store.directory((tx) =>
    tx.one(
      sql.type(row)`
        select 9007199254740991::int8 as big, '2026-02-03'::date as day,
               '2026-02-03T04:05:06.789Z'::timestamptz as at, 0.1::numeric as exact`,
    ),
  );
  const at = new Date('2026-02-03T04:05:06.789Z');
  t.deepEqual(found, { big: 9_007_199_254_740_991, day: '2026-02-03', at, exact: '0.1' });
});

test('the writes of a throwing handler are rolled back, and its error is passed on unchanged', async (t) => {
  const store = await open(t);
  const tenant = randomUUID();
  const mine = Object.assign(new Error('not the store'), { code: 'ECONNREFUSED' });
  const thrown = await t.throwsAsync(
    store.inTenant(tenantScope(tenant), async (tx) => {
      await tx.query(nothing`insert into counters values (${tenant}, ${randomUUID()}, 1)`);
      throw mine;
    }),
  );
  t.is(thrown, mine);
  t.deepEqual(await amounts(tenant), []);
});

test('a savepoint rolls back only its part', async (t) => {
  const store = await open(t);
  const tenant = randomUUID();
  const id = randomUUID();
  await store.inTenant(tenantScope(tenant), async (tx) => {
    await tx.query(nothing`insert into counters values (${tenant}, ${id}, 1)`);
    await t.throwsAsync(
      tx.savepoint(async (part) => {
        await part.query(nothing`insert into counters values (${tenant}, ${randomUUID()}, 2)`);
        await part.query(nothing`insert into counters values (${tenant}, ${id}, 3)`);
      }),
      { name: 'StoreError', message: /unique/ },
    );
    await tx.query(nothing`insert into counters values (${tenant}, ${randomUUID()}, 4)`);
  });
  t.deepEqual(await amounts(tenant), [1, 4]);
});

test("a handler that swallows a query's failure is not reported as committed", async (t) => {
  const store = await open(t);
  const tenant = randomUUID();
  const error = await failure(
    t,
    store.inTenant(tenantScope(tenant), async (tx) => {
      await tx.query(nothing`insert into counters values (${tenant}, ${randomUUID()}, 1)`);
      await tx.query(nothing`insert into counters values (${tenant}, null, 1)`).catch(() => undefined);
      return 'done';
    }),
  );
  t.is(error.failure, 'defect');
  t.deepEqual(await amounts(tenant), []);
});

test('deadlocked transactions are repeated until both are done', async (t) => {
  const store = await open(t);
  const tenant = randomUUID();
  const [one, other] = [randomUUID(), randomUUID()];
  for (const id of [one, other]) await owner.query('insert into counters values ($1, $2, 0)', [tenant, id]);
  let runs = 0;
  let holding = 0;
  const raiseBoth = (first: string, second: string): Promise<unknown> =>
    store.inTenant(tenantScope(tenant), async (tx) => {
      runs += 1;
      await tx.query(nothing`update counters set amount = amount + 1 where id = ${first}`);
      holding += 1;
      await eventually(() => holding >= 2, { what: 'both hold their first row' });
      await tx.query(nothing`update counters set amount = amount + 1 where id = ${second}`);
    });
  await Promise.all([raiseBoth(one, other), raiseBoth(other, one)]);
  // More often if the rolled back transaction locks its row again before the other wakes up, which PostgreSQL allows.
  t.true(runs >= 3, `${runs} runs`);
  t.deepEqual(await amounts(tenant), [2, 2]);
});

test('a handler that asks for it is never repeated', async (t) => {
  const store = await open(t);
  let runs = 0;
  const error = await failure(
    t,
    store.directory(
      (tx) => {
        runs += 1;
        return tx.query(sql.unsafe`do $$ begin raise exception using errcode = '40001'; end $$`);
      },
      { retriesMax: 0 },
    ),
  );
  t.like(error, { failure: 'conflict', retryable: true });
  t.is(runs, 1);
});

test("one connection that serves many tenants in turn keeps none of them, nor the owner's rights", async (t) => {
  const store = await open(t, { connectionsMax: 1 });
  const who = sql.type(z.object({ role: z.string(), tenant: z.string().nullable() }))`
    select current_user as role, current_tenant() as tenant`;
  for (let round = 0; round < 5; round += 1) {
    const tenant = randomUUID();
    t.deepEqual(await store.inTenant(tenantScope(tenant), (tx) => tx.one(who)), {
      role: 'troupe_app',
      tenant,
    });
    await t.throwsAsync(
      store.inTenant(tenantScope(tenant), async () => {
        throw new Error('no');
      }),
    );
  }
});

test('a transaction switches on no async hooks, because they slow down every promise of a process', async (t) => {
  const store = await open(t);
  await store.inTenant(tenantScope(randomUUID()), (tx) => tx.any(sql.unsafe`select 1`));
  await new Promise((resolve) => setImmediate(resolve));
  await Promise.resolve();
  // Only async hooks give ids to promises.
  t.is(executionAsyncId(), 0);
});

test('a connection is used again after its transaction was refused', async (t) => {
  const store = await open(t, { directoryConnectionsMax: 1 });
  const pid = sql.type(z.object({ pid: z.number() }))`select pg_backend_pid() as pid`;
  const before = await store.directory((tx) => tx.one(pid));
  await failure(
    t,
    store.directory((tx) => tx.any(sql.unsafe`select ${'no id'}::text::uuid`)),
  );
  t.deepEqual(await store.directory((tx) => tx.one(pid)), before);
});

test('a connection whose rollback was refused is closed, so that nobody finds its transaction open', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const store = await open(t, { databaseUrl: proxy.url, directoryConnectionsMax: 1 });
  const email = `${randomUUID()}@example.com`;
  let rollbacks = 0;
  proxy.alter = (question) => {
    if (!question.includes('rollback')) return question;
    rollbacks += 1;
    return Buffer.from(question.toString('latin1').replace('rollback', 'rollbakc'), 'latin1');
  };
  const refused = store.directory(async (tx) => {
    await tx.query(nothing`insert into users (id, email) values (${randomUUID()}, ${email})`);
    throw new Error('the handler does not want it');
  });
  await t.throwsAsync(refused, { message: 'the handler does not want it' });
  t.is(rollbacks, 1, 'PostgreSQL was asked for something that it does not know');
  await addUser(store, email);
});

test('a statement that runs too long is ended and may be retried', async (t) => {
  const store = await open(t, { statementTimeoutMs: 100 });
  const error = await failure(
    t,
    store.directory((tx) => tx.any(sql.unsafe`select pg_sleep(30)`)),
  );
  t.like(error, { failure: 'timeout', retryable: true });
});

test('transactions beyond the waiting bound are refused at once', async (t) => {
  const store = await open(t, { directoryConnectionsMax: 1, waitingMax: 2 });
  const slow = Array.from({ length: 3 }, () =>
    store.directory((tx) => tx.any(sql.unsafe`select pg_sleep(0.2)`)),
  );
  const error = await failure(
    t,
    store.directory((tx) => tx.any(sql.unsafe`select 1`)),
  );
  t.like(error, { failure: 'overloaded', retryable: true });
  await Promise.all(slow);
});

test('tenants wait for a connection in turn, and one has at most half of the waiting places', async (t) => {
  const store = await open(t, { connectionsMax: 1, waitingMax: 8 });
  const [hot, calm] = [tenantScope(randomUUID()), tenantScope(randomUUID())];
  const order: string[] = [];
  let release = (): void => undefined;
  t.teardown(() => release());
  const held = store.inTenant(hot, () => new Promise<void>((resolve) => (release = resolve)));
  const ask = (name: string, scope: typeof hot): Promise<unknown> =>
    store.inTenant(scope, async () => void order.push(name));
  const waiting = [1, 2, 3, 4].map((index) => ask(`hot ${index}`, hot));
  t.like(await failure(t, ask('one too many', hot)), { failure: 'overloaded', retryable: true });
  waiting.push(ask('calm', calm));
  await eventually(() => {
    release();
    return order.length > 0;
  });
  await Promise.all([held, ...waiting]);
  t.deepEqual(order, ['hot 1', 'calm', 'hot 2', 'hot 3', 'hot 4']);
});

test('a tenant with slow transactions leaves connections to others', async (t) => {
  const store = await open(t, { connectionsMax: 5 });
  const [hot, calm] = [tenantScope(randomUUID()), tenantScope(randomUUID())];
  let begun = 0;
  const releases: (() => void)[] = [];
  const slow = Array.from({ length: 6 }, () =>
    store.inTenant(hot, async () => {
      begun += 1;
      await new Promise<void>((resolve) => releases.push(resolve));
    }),
  );
  t.teardown(() => releases.forEach((release) => release()));
  await eventually(() => releases.length === 4);
  await store.inTenant(calm, async () => t.is(begun, 4));
  await eventually(() => {
    releases.splice(0).forEach((release) => release());
    return begun === 6 && releases.length === 0;
  });
  await Promise.all(slow);
});

test('an unreachable database fails as unavailable, and the store works when it is back', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const store = await open(t, { databaseUrl: proxy.url });
  const ask = (): Promise<unknown> => store.directory((tx) => tx.any(sql.unsafe`select 1 as one`));
  await ask();
  proxy.mode = 'down';
  proxy.cutAll();
  t.like(await failure(t, ask()), { failure: 'unavailable', retryable: true });
  proxy.mode = 'open';
  await eventually(() =>
    ask().then(
      () => true,
      () => false,
    ),
  );
});

test('a commit with a lost answer has an unknown outcome, not a failure that may be repeated blindly', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const store = await open(t, { databaseUrl: proxy.url, connectionsMax: 1 });
  const tenant = randomUUID();
  const error = await failure(
    t,
    store.inTenant(tenantScope(tenant), async (tx) => {
      await tx.query(nothing`insert into counters values (${tenant}, ${randomUUID()}, 1)`);
      proxy.cutsLeft = 1;
      proxy.mode = 'cut-at-answer';
    }),
  );
  t.like(error, { failure: 'outcome-unknown', retryable: false });
  await eventually(async () => (await amounts(tenant)).length === 1, { what: 'it was written' });
});

test('the store recovers repeatedly after losing all connections during statements', async (t) => {
  const url = new URL(database.url);
  url.searchParams.set('application_name', 'store_under_fire');
  const store = await open(t, { databaseUrl: url.href, directoryConnectionsMax: 3 });
  // Told to end is not yet ended: those of the round before may still be listed.
  const killed: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const running = Array.from({ length: 3 }, () =>
      store.directory((tx) => tx.any(sql.unsafe`select pg_sleep(30)`)),
    );
    const ended = Promise.allSettled(running);
    await eventually(async () => {
      const { rows } = await owner.query<{ pid: number }>(
        `with sleeping as (
           select pid from pg_stat_activity
           where application_name = 'store_under_fire' and query like '%pg_sleep%'
             and datname = current_database() and pid <> all($1::int[]))
         select pid, pg_terminate_backend(pid) from sleeping where (select count(*) from sleeping) = 3`,
        [killed],
      );
      killed.push(...rows.map(({ pid }) => pid));
      return rows.length === 3;
    });
    for (const result of await ended) {
      t.like(result, { status: 'rejected', reason: { failure: 'unavailable' } });
    }
    t.is(await store.directory((tx) => tx.oneFirst(sql.typeAlias('count')`select 1 as count`)), 1);
  }
});
