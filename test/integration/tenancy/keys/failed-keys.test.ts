// Invented keys: their cost for the store, and that they block no right key.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { createAuthenticator } from '../../../../src/http/authentication/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { KeyAdministration } from '../../../../src/tenancy/keys/index.js';
import { makeKey } from '../../../../src/tenancy/keys/key-text.js';
import { KnownKeys } from '../../../../src/tenancy/keys/known-keys.js';
import { KeyLookUps } from '../../../../src/tenancy/keys/look-ups.js';
import { operator, tenantUser } from '../../../../src/http/operations/index.js';
import { FailedCredentials } from '../../../../src/tenancy/quota/index.js';
import { type HotReads, openHotReads, openStore, type Store } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
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

/** One node's keys; every question to the store is counted. */
function build() {
  const state = { questions: 0 };
  const counted: HotReads = {
    ...reads,
    directory(statement, values) {
      state.questions += 1;
      return reads.directory(statement, values);
    },
  };
  const failures = new FailedCredentials(systemTime, 1_000);
  const lookUps = new KeyLookUps(counted, systemTime);
  const known = new KnownKeys({
    find: (hash, behindOthers) => lookUps.find(hash, behindOthers),
    failures,
    isFresh: () => true,
    time: systemTime,
    keysMax: 100_000,
    onUse: () => undefined,
  });
  return { known, failures, state };
}

const invented = (): string => makeKey('svc_live_', systemRandom).apiKey;

async function newKey(): Promise<string> {
  const scope = await insertTenant(store);
  const wish = { name: 'a key', prefix: 'svc_live_', role: 'admin' } as const;
  return (await administration.create(scope, 'operator', wish)).apiKey;
}

async function codeOf(attempt: () => unknown): Promise<string> {
  try {
    await attempt();
    return 'accepted';
  } catch (error) {
    return error instanceof PlatformError ? error.code : String(error);
  }
}

test('five thousand concurrent invented keys cost the store a few queries, and count by address', async (t) => {
  const { known, state } = build();
  const codes = await Promise.all(
    Array.from({ length: 5_200 }, (_, index) =>
      codeOf(() => known.authenticate(invented(), `2001:db8:1:2::${(index % 9_999) + 1}`)),
    ),
  );
  t.true(state.questions <= 40, `${state.questions} questions`);
  t.is(codes.filter((code) => code === 'invalid_api_key').length, 600);
  t.is(codes.filter((code) => code === 'rate_limit_exceeded').length, 4_600);
});

test('a right key works from an address over its limit, also one created a moment ago', async (t) => {
  const [here, there] = [build(), build()];
  const [known, older] = [here.known, await newKey()];
  await known.authenticate(older, '192.0.2.1');
  for (const { known: keys } of [here, there]) {
    await Promise.all(
      Array.from({ length: 700 }, () => codeOf(() => keys.authenticate(invented(), '192.0.2.1'))),
    );
    t.is(await codeOf(() => keys.authenticate(invented(), '192.0.2.1')), 'rate_limit_exceeded');
  }
  t.false(known.authenticate(older, '192.0.2.1') instanceof Promise, 'a key in memory is not even held up');
  const made = await newKey();
  for (const { known: keys } of [here, there]) {
    const flood = Promise.all(
      Array.from({ length: 300 }, () => codeOf(() => keys.authenticate(invented(), '192.0.2.1'))),
    );
    t.is(await codeOf(() => keys.authenticate(made, '192.0.2.1')), 'accepted');
    await flood;
  }
  t.is(await codeOf(() => known.authenticate(invented(), '192.0.2.2')), 'invalid_api_key');
});

test('the refusal has the figures of its window, which admits again within a minute', (t) => {
  const time = new ManualTime('2026-11-21T10:00:00Z');
  const failures = new FailedCredentials(time, 1_000);
  for (let count = 0; count < 600; count += 1) t.is(failures.note(`2001:db8:1:2::${count + 1}`), undefined);
  t.true(failures.isOver('2001:db8:1:2:ffff::1'));
  const refusal = failures.note('2001:db8:1:2::1');
  t.is(refusal?.code, 'rate_limit_exceeded');
  t.like(refusal?.details, { limit: 600, remaining: 0, retry_after: 60 });
  t.false(failures.isOver('2001:db8:1:3::1'));
  time.advance(60_000);
  t.false(failures.isOver('2001:db8:1:2::1'));
  t.is(failures.note('2001:db8:1:2::1'), undefined);
});

test('invented access tokens and operator tokens count too, and are rarely checked after that', async (t) => {
  const time = new ManualTime('2026-11-21T10:00:00Z');
  const failures = new FailedCredentials(time, 1_000);
  let checks = 0;
  const inMemory = { userId: 'ada', familyId: undefined, expiresAtMs: Number.MAX_SAFE_INTEGER };
  const authenticator = createAuthenticator({
    verifyToken(bearer, beforeCheck) {
      if (bearer === 'known.access.token') return inMemory;
      beforeCheck?.();
      checks += 1;
      return Promise.reject(new PlatformError('invalid_token'));
    },
    membershipOf(_user, _tenant, beforeCheck) {
      beforeCheck?.();
      checks += 1;
      return Promise.reject(new PlatformError('tenant_not_found'));
    },
    authenticateKey: () => Promise.reject(new PlatformError('invalid_api_key')),
    authenticateKeyToken: () => Promise.reject(new PlatformError('invalid_api_key')),
    authenticateVisitor: () => Promise.reject(new PlatformError('invalid_api_key')),
    operatorToken: 'the-right-operator-token-of-this-test',
    failures,
  });
  const users = { ...operator(), credentials: new Set(['user'] as const) };
  const tryTenant = (): Promise<string> =>
    codeOf(() =>
      authenticator.authenticate(
        { apiKey: undefined, bearer: 'known.access.token', tenantId: randomUUID(), address: '192.0.2.2' },
        tenantUser(null),
      ),
    );
  const send = (bearer: string, access = users as ReturnType<typeof operator>): Promise<string> =>
    codeOf(() =>
      authenticator.authenticate(
        { apiKey: undefined, bearer, tenantId: undefined, address: '192.0.2.1' },
        access,
      ),
    );
  for (let count = 0; count < 300; count += 1) t.is(await send(`invented.token.${count}`), 'invalid_token');
  for (let count = 0; count < 300; count += 1)
    t.is(await send(`guess-${count}`, operator()), 'invalid_token');
  t.is(await send('guess', operator()), 'rate_limit_exceeded');
  t.is(await send('the-right-operator-token-of-this-test', operator()), 'accepted');
  t.is(await send('known.access.token'), 'accepted');
  checks = 0;
  for (let count = 0; count < 100; count += 1) {
    t.is(await send(`another.token.${count}`), 'rate_limit_exceeded');
    time.advance(10);
  }
  t.is(checks, 10, 'one in a tenth of a second');

  // A user who tries tenants is limited alone, at any address.
  checks = 0;
  for (let count = 0; count < 600; count += 1) t.is(await tryTenant(), 'tenant_not_found');
  t.is(await tryTenant(), 'rate_limit_exceeded');
  t.is(checks, 601);
  t.is(await tryTenant(), 'rate_limit_exceeded');
  t.is(checks, 601, 'and no further tenant is looked up');
  t.is(failures.note('192.0.2.2'), undefined);
});
