// Counts that outlast the process, on the real database: days of tenants, lives of keys, tokens of months.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { z } from 'zod';
import { logTo } from '../../../support/builders/platform.js';
import type { TenantCaller } from '../../../../src/kernel/caller.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
import { openAttempts } from '../../../../src/models/usage/index.js';
import { createQuota, type Quota } from '../../../../src/tenancy/quota/index.js';
import { openStore, sql, type Store } from '../../../../src/infra/storage/index.js';
import { insertTenant, keyOf, userOf } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const database = databaseOfFile(test);
let store: Store;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  database.atEnd(() => store.close());
});

function node(time = new ManualTime('2026-11-21T10:00:00Z'), on: Store = store): Quota {
  return createQuota(
    {
      store: on,
      time,
      log: logTo((attempted, error) => {
        throw new Error(attempted, { cause: error });
      }),
    },
    { dailyLimits: true, openAttempts: (scope) => openAttempts(on, scope) },
  );
}

async function admittedOf(quota: Quota, caller: TenantCaller, times: number): Promise<number> {
  const all = await Promise.all(
    Array.from({ length: times }, async () => quota.admission.admitModelWork(caller)),
  );
  return all.filter(({ refusal }) => refusal === undefined).length;
}

const withDay = (requestsPerDay: number) => ({ ...limitsOf('enterprise', {}), requestsPerDay });

function granted(scope: TenantScope, subject: string): Promise<number | null> {
  return store.inTenant(scope, (tx) =>
    tx.maybeOneFirst(
      sql.type(z.object({ granted: z.number() }))`
        select granted from work_counts where tenant_id = ${scope.tenantId} and subject = ${subject}`,
    ),
  );
}

test('of 100 concurrent requests exactly the key quota is admitted', async (t) => {
  const quota = node();
  const key = keyOf(await insertTenant(store), { quotaLimit: 37 });
  t.is(await admittedOf(quota, key, 100), 37);
  t.is(await admittedOf(quota, key, 5), 0);
  await quota.stop();
});

test('concurrent requests at three nodes are admitted up to the daily limit together', async (t) => {
  const scope = await insertTenant(store);
  const user = userOf(scope, { limits: withDay(60) });
  const nodes = [node(), node(), node()];
  const admitted = await Promise.all(nodes.map((quota) => admittedOf(quota, user, 40)));
  t.is(
    admitted.reduce((sum, one) => sum + one, 0),
    60,
  );
  await Promise.all(nodes.map((quota) => quota.stop()));
});

test("a used-up key quota has its own refusal, and uses nothing of the tenant's window", async (t) => {
  const quota = node();
  const scope = await insertTenant(store);
  const key = keyOf(scope, { quotaLimit: 2 });
  await admittedOf(quota, key, 2);
  const { figures, refusal } = await quota.admission.admitModelWork(key);
  t.is(refusal?.code, 'quota_exceeded');
  t.is(refusal?.status, 429);
  t.is(refusal?.retryAfterSeconds, 86_400);
  t.deepEqual(refusal?.details, { limit: 2, used: 2, reset_date: null });
  t.is(figures.limit, 2);
  t.is(figures.remaining, 0);
  const user = userOf(scope);
  t.is(quota.admission.admitRequest(user, 'model-work') instanceof Promise, false);
  const looked = await quota.admission.admitRequest(user, 'model-work');
  t.is(looked.figures.remaining, 10_000 - 2);
  await quota.stop();
});

test('the day ends at midnight UTC: refused until then with the time, admitted after', async (t) => {
  const time = new ManualTime('2026-11-21T23:58:00Z');
  const quota = node(time);
  const user = userOf(await insertTenant(store), { limits: withDay(3) });
  t.is(await admittedOf(quota, user, 5), 3);
  const { figures, refusal } = await quota.admission.admitModelWork(user);
  t.is(refusal?.code, 'rate_limit_exceeded');
  const midnight = Date.parse('2026-11-22T00:00:00Z') / 1_000;
  t.deepEqual(figures, { limit: 3, remaining: 0, reset: midnight });
  t.deepEqual(refusal?.details, { limit: 3, remaining: 0, reset: midnight, retry_after: 120 });
  t.is(refusal?.retryAfterSeconds, 120);
  time.advanceTo('2026-11-21T23:59:59.999Z');
  t.is(await admittedOf(quota, user, 1), 0);
  time.advance(1);
  t.is(await admittedOf(quota, user, 5), 3);
  await quota.stop();
});

test('a clean stop returns the rest of its blocks, a crash leaves them spent', async (t) => {
  const scope = await insertTenant(store);
  const day = '2026-11-21';
  const user = userOf(scope, { limits: withDay(1_000) });
  const first = node();
  t.is(await admittedOf(first, user, 1), 1);
  t.is(await granted(scope, day), 20, 'a block was booked ahead');
  await first.stop();
  t.is(await granted(scope, day), 1);

  const crashed = node();
  t.is(await admittedOf(crashed, user, 1), 1);
  const booked = (await granted(scope, day)) ?? 0;
  t.true(booked > 2);
  const next = node();
  t.is(await admittedOf(next, user, 1_000), 1_000 - booked);
  await next.stop();
});

test('a grant from a block does not wait', async (t) => {
  const quota = node();
  const user = userOf(await insertTenant(store), { limits: withDay(1_000) });
  t.true(quota.admission.admitModelWork(user) instanceof Promise);
  await admittedOf(quota, user, 1);
  t.false(quota.admission.admitModelWork(user) instanceof Promise);
  await quota.stop();
});

test('unused blocks are returned', async (t) => {
  const time = new ManualTime('2026-11-21T10:00:00Z');
  const quota = node(time);
  const scope = await insertTenant(store);
  await admittedOf(quota, userOf(scope, { limits: withDay(1_000) }), 1);
  time.advance(120_000);
  await eventually(async () => (await granted(scope, '2026-11-21')) === 1, { what: 'the block given back' });
  t.pass();
  await quota.stop();
});

test('a raised daily limit applies within a second, a lowered one at once', async (t) => {
  const time = new ManualTime('2026-11-21T10:00:00Z');
  const quota = node(time);
  const scope = await insertTenant(store);
  const user = userOf(scope, { limits: withDay(2) });
  t.is(await admittedOf(quota, user, 3), 2);
  t.is(await admittedOf(quota, { ...user, limits: withDay(4) }, 5), 2);
  t.is(await admittedOf(quota, { ...user, limits: withDay(3) }, 1), 0);
  await quota.stop();
});

test('counts fail closed: without the store nothing is admitted and nothing is counted', async (t) => {
  const away = await openStore({ databaseUrl: database.url });
  const quota = node(undefined, away);
  const scope = await insertTenant(store);
  await away.close();
  await t.throwsAsync(async () => quota.admission.admitModelWork(userOf(scope)), {
    code: 'service_unavailable',
  });
  const looked = await quota.admission.admitRequest(userOf(scope), 'model-work');
  t.is(looked.figures.remaining, 10_000);
  await quota.stop();
});

test('daily counts older than forty days are removed when a new day begins', async (t) => {
  const time = new ManualTime('2026-09-01T10:00:00Z');
  const scope = await insertTenant(store);
  const user = userOf(scope, { limits: withDay(50) });
  const key = keyOf(scope, { quotaLimit: 50 });
  const quota = node(time);
  await admittedOf(quota, user, 1);
  await admittedOf(quota, key, 1);
  // Every timer of eighty days would block the loop and delay the other tests.
  time.setWall('2026-11-21T10:00:00Z');
  await admittedOf(quota, user, 1);
  t.is(await granted(scope, '2026-09-01'), null);
  t.is(await granted(scope, key.keyId), 1, 'the life of a key has no end');
  await quota.stop();
});

test('tokens of a month add up, show at once where they were recorded, and restart with the month', async (t) => {
  const time = new ManualTime('2026-11-30T23:59:58Z');
  const [quota, other] = [node(time), node(time)];
  const scope = await insertTenant(store);
  const limits = { ...limitsOf('free', {}), monthlyTokens: 100 };
  const refusal = async (of: Quota) => of.monthlyRefusal(scope, limits);
  const book = async (tokens: number) => {
    await store.inTenant(scope, (tx) => quota.addTokens(tx, new Date(time.wallMs()), tokens));
    quota.tokensBooked(scope);
  };
  t.is(await refusal(quota), undefined);
  t.is(await refusal(other), undefined);
  await book(60);
  t.is(await refusal(quota), undefined);
  await book(60);
  const refused = await refusal(quota);
  t.is(refused?.code, 'quota_exceeded');
  t.deepEqual(refused?.details, { limit: 100, used: 120, reset_date: '2026-12-01T00:00:00.000Z' });
  t.is(refused?.retryAfterSeconds, 2);
  t.is(await refusal(other), undefined, 'another node may answer from memory for a second');
  time.advance(1_000);
  t.is((await refusal(other))?.code, 'quota_exceeded');
  time.advance(1_000);
  t.is(await refusal(quota), undefined);
  await Promise.all([quota.stop(), other.stop()]);
});

test("GET /api/quota returns the month's figures to a key and to a user, from memory if possible", async (t) => {
  const quota = node();
  const scope = await insertTenant(store);
  const operation = quota.operations.find(({ name }) => name === 'quota.read');
  if (operation === undefined) throw new Error('quota.read is not declared');
  await store.inTenant(scope, (tx) => quota.addTokens(tx, new Date('2026-11-05T00:00:00Z'), 1_234));
  const ask = (caller: TenantCaller) =>
    operation.handle({
      caller,
      params: {},
      query: {},
      body: undefined,
      rawBody: new Uint8Array(),
      rawQuery: '',
      headers: {},
      requestId: randomUUID(),
      signal: new AbortController().signal,
      leaving: new AbortController().signal,
    });
  const expected = {
    success: true,
    quota: {
      limit: 1_000_000_000,
      used: 1_234,
      remaining: 999_998_766,
      reset_date: '2026-12-01T00:00:00.000Z',
    },
  };
  t.deepEqual(await ask(keyOf(scope)), expected);
  t.deepEqual(ask(userOf(scope)), expected);
  await quota.stop();
});
