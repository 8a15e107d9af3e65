import { randomBytes } from 'node:crypto';
import test from 'ava';
import { systemPlatform } from '../../../../src/infra/platform/index.js';
import { ActorError, ClusterError, freshProcessId, systemRandom } from '../../../../cluster/index.js';
import { CounterServiceDefinition } from '../../../../generated/troupe/examples/v1/counter.js';
import { volatileActor } from '../../../../cluster/index.js';
import { clusterIdentity, resealClusterIdentity } from '../../../../src/infra/runtime/cluster-identity.js';
import { createActors, toPlatformError } from '../../../../src/infra/runtime/index.js';
import { readSettings } from '../../../../src/kernel/config/index.js';
import { createLog } from '../../../../src/infra/diagnostics/index.js';
import { createSealer, SealError } from '../../../../src/infra/sealing/index.js';
import { openStore, type Store } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';

const database = databaseOfFile(test);
let store: Store;
test.serial.before('a store', async () => {
  store = await openStore({ databaseUrl: database.url });
  database.atEnd(() => store.close());
});

const sealerOf = (masterKey: Uint8Array, ...formerMasterKeys: Uint8Array[]) =>
  createSealer({ masterKey, formerMasterKeys, random: systemPlatform.random });
const oldKey = randomBytes(32);
const newKey = randomBytes(32);

const where = volatileActor({
  service: CounterServiceDefinition,
  methods: { read: { idempotent: true } },
  create: (activation) => ({
    add: ({ amount }) => ({ sum: amount }),
    read: () => ({ sum: 7 }),
    async *count() {
      yield { number: 1 };
    },
    where: () => ({ process: activation.process }),
  }),
});

function actorsOf(parts: Partial<Parameters<typeof createActors>[0]> = {}) {
  return createActors({
    settings: readSettings({ DATABASE_URL: database.url }),
    process: freshProcessId('alone'),
    store,
    sealer: sealerOf(oldKey),
    logger: createLog({ level: 'silent' }).logger,
    onLost: () => undefined,
    ...parts,
  });
}

test("given timings replace the runtime's defaults and must satisfy its rules", (t) => {
  t.throws(() => actorsOf({ cluster: { watchdogMs: 4_000 } }), { message: /watchdogMs < leaseActMs/ });
  t.notThrows(() => actorsOf({ cluster: { watchdogMs: 4_000, leaseActMs: 4_500 } }));
});

test('a reference made before the start works after it, and fails with a retryable error before and after the run', async (t) => {
  const actors = actorsOf();
  actors.register(where);
  const reference = actors.references(where)('a-group', 'a-key');
  const early = await t.throwsAsync(reference.read({}), { instanceOf: ClusterError });
  t.is(early?.tag, 'not_serving');
  t.is(toPlatformError(early)?.code, 'service_unavailable');
  await t.throwsAsync(reference.count({ after: 0, to: 1, pauseMs: 0 }).next(), { instanceOf: ClusterError });
  t.is(actors.slotOf(where, 'a-group', 'a-key') >= 0, true);
  t.false(actors.ready());

  await actors.start();
  t.true(actors.ready());
  t.deepEqual(await reference.read({}), { sum: 7 });
  t.deepEqual(await reference.where({}), { process: actors.process });
  await actors.readiness.check();
  t.throws(() => actors.register(where), { message: /after the start/ });

  await actors.stop();
  const late = await t.throwsAsync(reference.read({}), { instanceOf: ClusterError });
  t.is(late?.tag, 'not_serving');
  await t.throwsAsync(actors.readiness.check());
});

test.serial(
  'nodes of one database share a name and a secret, which survive a change of the master key',
  async (t) => {
    const shared = { store, random: systemRandom, givenSecret: undefined };
    const [one, other] = await Promise.all([
      clusterIdentity({ ...shared, sealer: sealerOf(oldKey) }),
      clusterIdentity({ ...shared, sealer: sealerOf(oldKey) }),
    ]);
    t.deepEqual(one, other);
    const between = await clusterIdentity({ ...shared, sealer: sealerOf(newKey, oldKey) });
    t.deepEqual(between, one);
    const after = await clusterIdentity({ ...shared, sealer: sealerOf(newKey) });
    t.deepEqual(after, one, 'it was sealed anew by the first node that knew both keys');
    await t.throwsAsync(clusterIdentity({ ...shared, sealer: sealerOf(oldKey) }), { instanceOf: SealError });
    const own = await clusterIdentity({ ...shared, sealer: sealerOf(newKey), givenSecret: 'own' });
    t.deepEqual(own, { name: one.name, secret: 'own' });
    const [third, fourth] = [randomBytes(32), randomBytes(32)];
    await resealClusterIdentity({ ...shared, sealer: sealerOf(third, newKey) });
    t.deepEqual(await clusterIdentity({ ...shared, sealer: sealerOf(third) }), one);
    await resealClusterIdentity({ ...shared, sealer: sealerOf(fourth) });
    const another = await clusterIdentity({ ...shared, sealer: sealerOf(fourth) });
    t.is(another.name, one.name);
    t.not(another.secret, one.secret, 'no key opens the former secret');
  },
);

test("runtime failures become retryable refusals; actors' failures are left to their subject", (t) => {
  const overloaded = toPlatformError(new ClusterError('overloaded', 'full', { retryAfterMs: 2_400 }));
  t.is(overloaded?.status, 503);
  t.is(overloaded?.retryAfterSeconds, 3);
  t.is(toPlatformError(new ClusterError('deadline_exceeded', 'late'))?.status, 503);
  t.is(toPlatformError(new ClusterError('message_too_large', 'big'))?.status, 413);
  t.is(toPlatformError(new ClusterError('request_conflict', 'other'))?.status, 409);
  t.is(toPlatformError(new ActorError('own', 'the own code of a kind')), undefined);
  t.is(toPlatformError(new ClusterError('handler_failed', 'a mistake')), undefined);
  t.is(toPlatformError(new Error('unforeseen')), undefined);
});
