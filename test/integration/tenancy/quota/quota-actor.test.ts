// Quota through its actor, on a real database: a single process, and two that both believe to be alone.
import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { freshProcessId } from '../../../../cluster/index.js';
import { z } from 'zod';
import { logTo } from '../../../support/builders/platform.js';
import { systemPlatform } from '../../../../src/infra/platform/index.js';
import { createActors } from '../../../../src/infra/runtime/index.js';
import { readSettings } from '../../../../src/kernel/config/index.js';
import type { TenantCaller } from '../../../../src/kernel/caller.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { createLog } from '../../../../src/infra/diagnostics/index.js';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
import { openAttempts } from '../../../../src/models/usage/index.js';
import { createQuota, type Quota } from '../../../../src/tenancy/quota/index.js';
import { createSealer } from '../../../../src/infra/sealing/index.js';
import { openStore, sql, type Store } from '../../../../src/infra/storage/index.js';
import { insertTenant, keyOf, userOf } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';

const database = databaseOfFile(test);
let store: Store;

test.serial.before('a store', async () => {
  store = await openStore({ databaseUrl: database.url });
  database.atEnd(() => store.close());
});

interface Node {
  readonly quota: Quota;
  readonly time: ManualTime;
  stop(): Promise<void>;
}

async function startNode(t: ExecutionContext, databaseUrl = database.url): Promise<Node> {
  const time = new ManualTime('2026-11-21T10:00:00Z');
  const actors = createActors({
    settings: readSettings({ DATABASE_URL: databaseUrl }),
    process: freshProcessId('alone'),
    store,
    sealer: createSealer({ masterKey: randomBytes(32), random: systemPlatform.random }),
    logger: createLog({ level: 'silent' }).logger,
    onLost: () => undefined,
  });
  const report = (attempted: string, error: unknown): void => t.log(attempted, error);
  const quota = createQuota(
    { store, time, log: logTo(report) },
    {
      dailyLimits: true,
      actors,
      openAttempts: (scope) => openAttempts(store, scope),
    },
  );
  await actors.start();
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> =>
    (stopping ??= (async () => {
      await quota.flush();
      await actors.stop();
      await quota.stop();
    })());
  t.teardown(stop);
  return { quota, time, stop };
}

async function admittedOf({ quota }: Node, caller: TenantCaller, times: number): Promise<number> {
  const all = await Promise.all(
    Array.from({ length: times }, async () => quota.admission.admitModelWork(caller)),
  );
  return all.filter(({ refusal }) => refusal === undefined).length;
}

function granted(scope: TenantScope, kind: 'day' | 'key'): Promise<number | null> {
  return store.inTenant(scope, (tx) =>
    tx.maybeOneFirst(
      sql.type(z.object({ granted: z.number() }))`
        select granted from work_counts where tenant_id = ${scope.tenantId} and kind = ${kind}`,
    ),
  );
}

function heldOf(scope: TenantScope): Promise<number> {
  return store.inTenant(scope, (tx) =>
    tx.oneFirst(sql.type(z.object({ held: z.number() }))`
      select held from token_holds where tenant_id = ${scope.tenantId}`),
  );
}

test('the first question loads the actor; from then on this node answers within the tick', async (t) => {
  const { quota, time } = await startNode(t);
  const key = keyOf(await insertTenant(store), { requestsPerMinute: 10, quotaLimit: 100 });
  const first = quota.admission.admitRequest(key, 'model-work');
  t.true(first instanceof Promise);
  const { figures, ahead } = await first;
  t.is(figures.remaining, 9);
  t.is(ahead?.admitted.refusal, undefined);
  const next = quota.admission.admitRequest(key, 'model-work');
  t.false(next instanceof Promise);
  t.false(quota.admission.admitModelWork(key) instanceof Promise);
  t.is((await next).figures.remaining, 8);
  // Some questions use the mailbox anyway, so that the actor does not count as idle.
  time.advance(30_000);
  t.true(quota.admission.admitRequest(key, 'request') instanceof Promise);
});

test('work counted ahead that did not start counts nowhere', async (t) => {
  const node = await startNode(t);
  const { quota, time } = node;
  const scope = await insertTenant(store);
  const key = keyOf(scope, { quotaLimit: 2, requestsPerMinute: 50 });
  for (let request = 0; request < 5; request += 1) {
    const { refusal, ahead } = await quota.admission.admitRequest(key, 'model-work');
    t.is(refusal, undefined);
    t.is(ahead?.admitted.refusal, undefined, 'the life of the key has room');
    ahead?.refund();
    await quota.flush();
    // So that the next question goes by the mailbox too.
    time.advance(31_000);
  }
  t.is(await admittedOf(node, key, 5), 2);
  const user = userOf(scope, { limits: { ...limitsOf('enterprise', {}), requestsPerMinute: 3 } });
  const { figures } = await quota.admission.admitRequest(user, 'model-work');
  t.is(figures.remaining, 1, 'two of the minute were used');
});

test('a request with refused work is first checked as a request, and gets the refusal when it starts work', async (t) => {
  const { quota, time } = await startNode(t);
  const key = keyOf(await insertTenant(store), { quotaLimit: 1, requestsPerMinute: 50 });
  const one = await quota.admission.admitRequest(key, 'model-work');
  await quota.admission.admitModelWork(key, one.ahead);
  time.advance(31_000);
  const two = await quota.admission.admitRequest(key, 'model-work');
  t.is(two.refusal, undefined);
  t.is(two.figures.limit, 50);
  const work = await quota.admission.admitModelWork(key, two.ahead);
  t.is(work.refusal?.code, 'quota_exceeded');
  t.deepEqual(work.refusal?.details, { limit: 1, used: 1, reset_date: null });
  t.is(work.refusal?.retryAfterSeconds, 86_400);
});

test('an orderly end returns the rest of the blocks, and the next owner continues from there', async (t) => {
  const scope = await insertTenant(store);
  const key = keyOf(scope, { quotaLimit: 1_000 });
  const first = await startNode(t);
  t.is(await admittedOf(first, key, 3), 3);
  t.true(((await granted(scope, 'key')) ?? 0) > 3, 'a block was booked ahead');
  await first.stop();
  t.is(await granted(scope, 'key'), 3);
  t.is(await granted(scope, 'day'), 3);
  const second = await startNode(t);
  t.is(await admittedOf(second, key, 1_000), 997);
});

test('two owners unaware of each other together admit exactly the limit', async (t) => {
  const scope = await insertTenant(store);
  const user = userOf(scope, { limits: { ...limitsOf('enterprise', {}), requestsPerDay: 60 } });
  const nodes = await Promise.all([startNode(t), startNode(t)]);
  let admitted = 0;
  for (let round = 0; round < 12; round += 1) {
    const both = await Promise.all(nodes.map((node) => admittedOf(node, user, 4)));
    admitted += both.reduce((sum, one) => sum + one, 0);
    for (const { time } of nodes) time.advance(1_001);
  }
  t.true(admitted <= 60);
  await eventually(
    async () => {
      for (const node of nodes) admitted += await admittedOf(node, user, 1);
      for (const { time } of nodes) time.advance(1_001);
      return admitted === 60 && (await granted(scope, 'day')) === 60;
    },
    { what: 'every last one is admitted' },
  );
});

test('counts fail closed: without the store model work is refused with a retry time', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  t.teardown(() => proxy.close());
  const node = await startNode(t, proxy.url);
  const key = keyOf(await insertTenant(store), { quotaLimit: 100_000 });
  t.is(await admittedOf(node, key, 1), 1);
  proxy.mode = 'down';
  proxy.cutAll();
  const error = await t.throwsAsync(async () => admittedOf(node, key, 5_000), {
    code: 'service_unavailable',
  });
  t.true(error !== undefined && 'retryAfterSeconds' in error && error.retryAfterSeconds === 1);
});

test('tokens are reserved where the actor lives, and settled ones show at once', async (t) => {
  const { quota } = await startNode(t);
  const scope = await insertTenant(store);
  const limits = { ...limitsOf('free', {}), monthlyTokens: 100 };
  const wish = (attemptId: string) => ({
    attemptId,
    tokens: 60,
    withinMs: 60_000,
    limits,
    alreadyAdmitted: false,
  });
  t.is(await quota.reserveTokens(scope, wish('a')), undefined);
  t.is(await quota.reserveTokens(scope, wish('b')), undefined);
  t.true((await heldOf(scope)) >= 120, 'what is reserved was committed before');
  const third = quota.reserveTokens(scope, wish('c'));
  // Their rows are closed before they settle.
  await store.inTenant(scope, (tx) => quota.addTokens(tx, new Date('2026-11-21T10:00:00Z'), 110));
  quota.settleTokens(scope, { attemptId: 'a', reserved: 60, tokens: 70 });
  quota.settleTokens(scope, { attemptId: 'b', reserved: 60, tokens: 40 });
  await quota.flush();
  const refusal = await third;
  t.is(refusal?.code, 'quota_exceeded');
  t.is(refusal?.details?.['used'], 110);
});

test('the hold of a new owner includes what an earlier one may have reserved', async (t) => {
  const scope = await insertTenant(store);
  const limits = { ...limitsOf('free', {}), monthlyTokens: 100 };
  const wish = (attemptId: string) => ({
    attemptId,
    tokens: 60,
    withinMs: 600_000,
    limits,
    alreadyAdmitted: true,
  });
  const first = await startNode(t);
  for (const id of ['a', 'b']) t.is(await first.quota.reserveTokens(scope, wish(id)), undefined);
  // It does not know the first, which may have reserved all that it holds.
  const second = await startNode(t);
  t.is(await second.quota.reserveTokens(scope, wish('c')), undefined);
  t.true((await heldOf(scope)) >= 180);
});
