// The key cache of a node, and when it asks the store instead. The reads are real; a latch delays some of them.
import test from 'ava';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { KeyAdministration, type KeyRequest } from '../../../../src/tenancy/keys/index.js';
import { makeKey } from '../../../../src/tenancy/keys/key-text.js';
import { type KnownKey, KnownKeys } from '../../../../src/tenancy/keys/known-keys.js';
import { findByHash } from '../../../../src/tenancy/keys/lookup.store.js';
import { type HotReads, openHotReads, openStore, type Store } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const database = databaseOfFile(test);
let store: Store;
let reads: HotReads;
let administration: KeyAdministration;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  reads = openHotReads({ databaseUrl: database.url, time: systemTime });
  administration = new KeyAdministration({ store, time: systemTime, random: systemRandom });
  database.atEnd(async () => {
    await reads.close();
    await store.close();
  });
});

function build(keysMax = 100) {
  const time = new ManualTime(new Date().toISOString());
  const state = { fresh: true, lookups: 0, read: 0, hold: Promise.resolve(), used: [] as KnownKey[] };
  const known = new KnownKeys({
    time,
    keysMax,
    isFresh: () => state.fresh,
    onUse: (key) => void state.used.push(key),
    async find(hash) {
      state.lookups += 1;
      const { hold } = state;
      const found = await findByHash(reads, hash);
      state.read += 1;
      await hold;
      return found;
    },
  });
  return { time, state, known };
}

async function newKey(wish: Partial<KeyRequest> = {}, inTenant?: TenantScope) {
  const scope = inTenant ?? (await insertTenant(store));
  const key = await administration.create(scope, 'operator', {
    name: 'a key',
    prefix: 'svc_live_',
    role: 'admin',
    ...wish,
  });
  return { ...key, scope };
}

/** A promise and the function that resolves it. */
function gate(): { closed: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const closed = new Promise<void>((resolve) => (open = resolve));
  return { closed, open };
}

test('a key is looked up once, then answered from memory without a promise, for any address', async (t) => {
  const { known, state } = build();
  const { id, apiKey, scope } = await newKey({ role: 'editor', quotaLimit: 5 });
  const first = await known.authenticate(apiKey, '192.0.2.1');
  t.like(first, { kind: 'key', keyId: id, role: 'editor', quotaLimit: 5, address: '192.0.2.1' });
  t.is(first.scope.tenantId, scope.tenantId);
  const second = known.authenticate(apiKey, '192.0.2.2');
  t.false(second instanceof Promise);
  t.like(second, { keyId: id, address: '192.0.2.2' });
  t.is(state.lookups, 1);
  t.is(state.used.length, 2);
});

test('many concurrent first requests of one key share one look-up', async (t) => {
  const { known, state } = build();
  const { apiKey } = await newKey();
  await Promise.all(Array.from({ length: 20 }, async () => known.authenticate(apiKey, '')));
  t.is(state.lookups, 1);
});

test('while the change feed is stale, each request asks the store', async (t) => {
  const { known, state } = build();
  const { id, apiKey, scope } = await newKey();
  await known.authenticate(apiKey, '');
  state.fresh = false;
  await known.authenticate(apiKey, '');
  t.is(state.lookups, 2);
  await administration.revoke(scope, 'operator', id);
  await t.throwsAsync(async () => known.authenticate(apiKey, ''), { code: 'invalid_api_key' });
});

test('a look-up in progress when the key was dropped is not cached', async (t) => {
  const { known, state } = build();
  const { id, apiKey, scope } = await newKey();
  const { closed, open } = gate();
  state.hold = closed;
  const early = known.authenticate(apiKey, '');
  await eventually(() => state.read === 1, { what: 'the row is read' });
  await administration.revoke(scope, 'operator', id);
  known.dropKey(id);
  state.hold = Promise.resolve();
  const late = known.authenticate(apiKey, '');
  open();
  t.like(await early, { keyId: id }, 'it came before the end of the key');
  await t.throwsAsync(async () => late, { code: 'invalid_api_key' });
  await t.throwsAsync(async () => known.authenticate(apiKey, ''), { code: 'invalid_api_key' });
});

test('a change of a tenant drops all its keys and no others', async (t) => {
  const { known, state } = build();
  const [one, foreign] = [await newKey(), await newKey()];
  const two = await newKey({}, one.scope);
  for (const { apiKey } of [one, two, foreign]) await known.authenticate(apiKey, '');
  known.dropTenant(one.scope.tenantId);
  t.is(known.size, 1);
  t.false(known.authenticate(foreign.apiKey, '') instanceof Promise);
  for (const { apiKey } of [one, two]) await known.authenticate(apiKey, '');
  t.is(state.lookups, 5);
});

test('an unknown key is looked up again only after a few seconds, and never evicts a real one', async (t) => {
  const { known, state, time } = build(5);
  const { apiKey } = await newKey();
  await known.authenticate(apiKey, '');
  const invented = Array.from({ length: 20 }, () => makeKey('svc_live_', systemRandom).apiKey);
  for (const one of invented) {
    await t.throwsAsync(async () => known.authenticate(one, ''), { code: 'invalid_api_key' });
  }
  t.is(state.lookups, 21);
  const last = invented.at(-1) ?? '';
  t.throws(() => known.authenticate(last, ''), { code: 'invalid_api_key' }, 'refused without a promise');
  t.is(state.lookups, 21);
  t.false(known.authenticate(apiKey, '') instanceof Promise);
  time.advance(5_001);
  await t.throwsAsync(async () => known.authenticate(last, ''), { code: 'invalid_api_key' });
  t.is(state.lookups, 22);
});

test('the number of cached keys is bounded', async (t) => {
  const { known, state } = build(3);
  const scope = await insertTenant(store);
  const keys = await Promise.all(Array.from({ length: 5 }, () => newKey({}, scope)));
  for (const { apiKey } of keys) await known.authenticate(apiKey, '');
  t.is(known.size, 3);
  await known.authenticate(keys[0]?.apiKey ?? '', '');
  t.is(state.lookups, 6);
  known.dropTenant(scope.tenantId);
  t.is(known.size, 0);
});

test('a cached key expires on time', async (t) => {
  const { known, time } = build();
  const { apiKey, expiresAt } = await newKey({ expiresInDays: 1 });
  await known.authenticate(apiKey, '');
  const leftMs = (expiresAt?.getTime() ?? 0) - time.wallMs();
  time.advance(leftMs - 1);
  t.like(known.authenticate(apiKey, ''), { kind: 'key' });
  time.advance(1);
  t.throws(() => known.authenticate(apiKey, ''), { code: 'invalid_api_key' });
});

test('without the store a cached key works and another gets 503, not 401', async (t) => {
  const away = openHotReads({ databaseUrl: database.url, time: systemTime });
  const known = new KnownKeys({
    time: systemTime,
    keysMax: 10,
    isFresh: () => true,
    onUse: () => undefined,
    find: (hash) => findByHash(away, hash),
  });
  const [one, other] = [await newKey(), await newKey()];
  await known.authenticate(one.apiKey, '');
  await away.close();
  t.like(known.authenticate(one.apiKey, ''), { keyId: one.id });
  await t.throwsAsync(async () => known.authenticate(other.apiKey, ''), { code: 'service_unavailable' });
});
