// How uses are counted in memory and added up in the store, by several nodes and through failures.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemIds } from '../../../../src/infra/platform/index.js';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { KeyAdministration } from '../../../../src/tenancy/keys/index.js';
import type { KnownKey } from '../../../../src/tenancy/keys/known-keys.js';
import { KeyUse } from '../../../../src/tenancy/keys/use.js';
import { addUses, forgetOldBatches, type KeyUseRow } from '../../../../src/tenancy/keys/use.store.js';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
import { openStore, sql, type Store } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const database = databaseOfFile(test);
let store: Store;
let administration: KeyAdministration;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  database.atEnd(() => store.close());
  administration = new KeyAdministration({ store, time: systemTime, random: systemRandom });
});

async function newKey(inTenant?: TenantScope): Promise<KnownKey> {
  const scope = inTenant ?? (await insertTenant(store));
  const { id } = await administration.create(scope, 'operator', {
    name: 'a key',
    prefix: 'svc_live_',
    role: 'admin',
  });
  return {
    hash: '',
    keyId: id,
    scope,
    role: 'admin',
    limits: limitsOf('enterprise', {}),
    requestsPerMinute: 10,
    quotaLimit: null,
    expiresAtMs: Number.POSITIVE_INFINITY,
    rules: { allowedModels: null, budget: null },
    allowedRanges: null,
    publicUse: null,
    suspended: false,
    deleting: false,
  };
}

async function useOf({ scope, keyId }: KnownKey): Promise<{ total: number; last: string | undefined }> {
  const { totalRequests, lastUsedAt } = await administration.detail(scope, keyId);
  return { total: totalRequests, last: lastUsedAt?.toISOString() };
}

function build(
  wall: string,
  add: (batchId: string, rows: readonly KeyUseRow[]) => Promise<void> = (id, rows) =>
    addUses(store, id, rows),
) {
  const time = new ManualTime(wall);
  const problems: unknown[] = [];
  const use = new KeyUse({
    add,
    forgetOldBatches: () => forgetOldBatches(store),
    time,
    ids: systemIds,
    report: (_attempted, error) => void problems.push(error),
  });
  return { time, use, problems };
}

test('key uses are written every few seconds without a request, and the rest at the end', async (t) => {
  const { time, use } = build('2026-11-21T10:00:00Z');
  const key = await newKey();
  for (let count = 0; count < 5; count += 1) use.count(key);
  time.advance(3_000);
  await eventually(async () => (await useOf(key)).total === 5, { what: 'the uses are added' });
  t.is((await useOf(key)).last, '2026-11-21T10:00:00.000Z');
  use.count(key);
  await use.stop();
  t.deepEqual(await useOf(key), { total: 6, last: '2026-11-21T10:00:03.000Z' });
});

test('several nodes count the same keys at once, and the latest use wins whoever writes last', async (t) => {
  const scope = await insertTenant(store);
  const keys = await Promise.all(Array.from({ length: 6 }, () => newKey(scope)));
  const nodes = ['10:00:05', '10:00:09', '10:00:01', '10:00:07'].map((at) => build(`2026-11-21T${at}Z`));
  for (let round = 0; round < 5; round += 1) {
    for (const [index, { use }] of nodes.entries()) {
      // Each node meets the keys in another order.
      const order = [...keys.slice(index), ...keys.slice(0, index)];
      for (const key of index % 2 === 0 ? order : order.toReversed()) use.count(key);
    }
    await Promise.all(nodes.map(({ use }) => use.flush()));
  }
  const totals = await Promise.all(keys.map(useOf));
  t.is(
    totals.reduce((sum, { total }) => sum + total, 0),
    5 * nodes.length * keys.length,
  );
  t.is(totals[0]?.last, '2026-11-21T10:00:09.000Z');
  await Promise.all(nodes.map(({ use }) => use.stop()));
});

test('a batch with a lost outcome is sent again and counts once', async (t) => {
  let answersLost = 2;
  const { use } = build('2026-11-21T10:00:00Z', async (batchId, rows) => {
    await addUses(store, batchId, rows);
    answersLost -= 1;
    if (answersLost >= 0) throw new Error('the answer was lost');
  });
  const key = await newKey();
  use.count(key);
  await t.throwsAsync(use.flush(), { message: 'the answer was lost' });
  use.count(key);
  await t.throwsAsync(use.flush(), { message: 'the answer was lost' });
  await use.flush();
  t.is((await useOf(key)).total, 2);
  await use.stop();
});

test('while the store is unavailable uses accumulate, are reported as unwritten, and are written later', async (t) => {
  let away = true;
  const sent: number[] = [];
  const { use, time, problems } = build('2026-11-21T10:00:00Z', async (batchId, rows) => {
    if (away) throw new Error('the store is away');
    sent.push(rows.length);
    await addUses(store, batchId, rows);
  });
  const key = await newKey();
  for (let round = 1; round <= 4; round += 1) {
    use.count(key);
    time.advance(3_000);
    await eventually(() => problems.length >= round, { what: `failure ${round} is reported` });
  }
  away = false;
  await use.flush();
  t.is((await useOf(key)).total, 4);
  t.deepEqual(sent, [1, 1], 'the batch that was cut first, and one with all that gathered since');
  await use.stop();
});

test('a flush includes everything counted before it was requested', async (t) => {
  const { use } = build('2026-11-21T10:00:00Z');
  const key = await newKey();
  const flushes: Promise<void>[] = [];
  for (let count = 1; count <= 10; count += 1) {
    use.count(key);
    flushes.push(use.flush());
    if (count % 3 === 0) await Promise.resolve();
  }
  await flushes.at(-1);
  t.is((await useOf(key)).total, 10);
  await Promise.all(flushes);
  await use.stop();
});

test('a batch of keys without a tenant adds nothing and fails nothing', async (t) => {
  const key = await newKey();
  const row = { tenantId: key.scope.tenantId, requests: 3, lastUsedAt: new Date() };
  await addUses(store, randomUUID(), [
    { ...row, keyId: randomUUID() },
    { ...row, keyId: key.keyId },
    { ...row, keyId: key.keyId, tenantId: randomUUID() },
  ]);
  t.is((await useOf(key)).total, 3);
});

test('batches are removed once nobody can send them again', async (t) => {
  const [old, young] = [randomUUID(), randomUUID()];
  const key = await newKey();
  const rows = [{ tenantId: key.scope.tenantId, keyId: key.keyId, requests: 1, lastUsedAt: new Date() }];
  await addUses(store, young, rows);
  await store.directory((tx) =>
    tx.query(sql.typeAlias('nothing')`
      insert into api_key_use_batches (id, added_at) values (${old}, now() - interval '2 hours')`),
  );
  await forgetOldBatches(store);
  await addUses(store, young, rows);
  t.is((await useOf(key)).total, 1, 'the young one is still known');
  await addUses(store, old, rows);
  t.is((await useOf(key)).total, 2, 'the old one is not');
});
