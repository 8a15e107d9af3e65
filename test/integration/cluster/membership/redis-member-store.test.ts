import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import { clusterConfig } from '../../../../cluster/config.js';
import { processId, viewNumber } from '../../../../cluster/ids/ids.js';
import type { MemberStore, Renewal } from '../../../../cluster/membership/member-store.js';
import { parseRedisAddress } from '../../../../cluster/membership/redis/address.js';
import { connectRedis, whenReady } from '../../../../cluster/membership/redis/connection.js';
import { openRedisMembers } from '../../../../cluster/membership/redis/member-store.js';
import { emptyView, makeView } from '../../../../cluster/membership/view.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { lease, member, memberStoreContract } from '../../../contracts/member-store.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { freePort } from '../../../support/servers/free-port.js';
import { PrivateRedis, sharedRedisUrl } from '../../../support/servers/redis.js';

const config = clusterConfig();
/** For tests in which Redis is always up: tolerates commands that a stalled machine delays for seconds. */
const patient = clusterConfig({
  memberStoreTimeoutMs: 20_000,
  leaseMs: 100_000,
  leaseActMs: 90_000,
  leaseAdmitMs: 80_000,
});

function open(t: ExecutionContext, url: string, cluster: string, changes = config): Promise<MemberStore> {
  const opened = openRedisMembers({ url, cluster, config: changes, random: systemRandom, time: systemTime });
  t.teardown(async () => (await opened.catch(() => undefined))?.close());
  return opened;
}

/** A stalled machine may delay the first renewal beyond the time-out of a command: it is sent again. */
function joined(store: MemberStore): ReturnType<MemberStore['renew']> {
  const renewed = () =>
    store.renew(lease('p1', 1), undefined).then(
      (renewal) => renewal.renewed && renewal,
      () => undefined,
    );
  return eventually(renewed, { what: 'the first renewal' });
}

memberStoreContract(test, 'Redis', async (t) => {
  const url = await sharedRedisUrl();
  const cluster = systemRandom.id();
  const [one, other] = await Promise.all([open(t, url, cluster, patient), open(t, url, cluster, patient)]);
  const redis = new Redis(url);
  t.teardown(() => redis.disconnect());
  const forget = async (): Promise<void> => {
    await redis.del(`{troupe:${cluster}}:members`, `{troupe:${cluster}}:voices`);
  };
  t.teardown(forget);
  return { one, other, flush: forget };
});

/** A store on the shared server, and what Redis holds of it. */
async function inspected(t: ExecutionContext) {
  const url = await sharedRedisUrl();
  const cluster = systemRandom.id();
  const [members, votes] = [`{troupe:${cluster}}:members`, `{troupe:${cluster}}:voices`];
  const store = await open(t, url, cluster, patient);
  const redis = new Redis(url);
  t.teardown(async () => {
    await redis.del(members, votes);
    redis.disconnect();
  });
  return { store, redis, members, votes };
}

test('the scripts run on a Redis Cluster, because all keys are in one slot', async (t) => {
  const server = await PrivateRedis.start({ cluster: true });
  t.teardown(() => server.stop());
  const url = server.url.replace('redis://', 'redis+cluster://');
  const [one, other] = await Promise.all([open(t, url, 'a', patient), open(t, url, 'a', patient)]);
  let hints = 0;
  other.onChange(() => {
    hints += 1;
  });
  const { generation } = await one.renew(lease('p1', 1), undefined);
  const request = { generation, process: processId('p1'), renewals: 1, voter: processId('p2') };
  const outcome = await other.remove({ ...request, votesNeeded: 1, voteMs: 1_000, silenceMs: 0 });
  t.is(outcome.outcome, 'removed');
  await eventually(() => hints === 2, { what: 'hints from the cluster' });
});

test('with Sentinel the store reconnects to the promoted replica', async (t) => {
  t.timeout(300_000);
  const master = await PrivateRedis.start();
  t.teardown(() => master.stop());
  const replica = await PrivateRedis.start({ replicaOf: master });
  t.teardown(() => replica.stop());
  const inStep = async (): Promise<boolean> => {
    const info = await replica.command((redis) => redis.info('replication'));
    return info.includes('master_link_status:up');
  };
  await eventually(inStep, { timeoutMs: 20_000, what: 'the replica follows' });
  const sentinel = await PrivateRedis.start({ sentinelOf: master });
  t.teardown(() => sentinel.stop());
  const knownReplicas = (): Promise<unknown> =>
    sentinel.command((redis) => redis.call('SENTINEL', 'REPLICAS', 'troupe'));
  const knowsReplica = async (): Promise<boolean> => {
    const known = await knownReplicas();
    return Array.isArray(known) && known.length === 1;
  };
  await eventually(knowsReplica, { timeoutMs: 30_000, what: 'the sentinel knows the replica' });
  const store = await open(t, `redis+sentinel://127.0.0.1:${sentinel.port}/troupe`, 'a');
  await joined(store);
  const copied = async (): Promise<boolean> =>
    (await replica.command((redis) => redis.exists('{troupe:a}:members'))) === 1;
  await eventually(copied, { what: 'the replica has the lease' });
  await master.kill();
  let renewals = 1;
  let last: Renewal | Error | undefined;
  const renewed = async (): Promise<boolean> => {
    renewals += 1;
    // Renewals fail until the replica is promoted and found.
    last = await store.renew(lease('p1', renewals), 'unknown').catch((error: Error) => error);
    return !(last instanceof Error) && last.renewed && last.leases.length === 1;
  };
  // A sentinel sees the master down after 5 s.
  try {
    await eventually(renewed, { timeoutMs: 150_000, everyMs: 200, what: 'a renewal at the new master' });
  } catch (error) {
    t.log('the last renewal', last);
    t.log('replicas as the sentinel sees them', await knownReplicas().catch(String));
    throw error;
  }
  t.pass();
});

test('a store on a Redis Cluster that is told to reconnect again and again is used again', async (t) => {
  const server = await PrivateRedis.start({ cluster: true });
  t.teardown(() => server.stop());
  // By name, so that each connection begins with a look-up.
  const url = server.url.replace('redis://127.0.0.1', 'redis+cluster://localhost');
  const store = await open(t, url, 'a', patient);
  await joined(store);
  const untilMs = performance.now() + 1_500;
  while (performance.now() < untilMs) {
    store.reconnect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  let renewals = 1;
  const renewed = async (): Promise<boolean> => {
    renewals += 1;
    const seen = await store.snapshot().catch(() => undefined);
    const renewal = await store.renew(lease('p1', renewals), undefined).catch(() => undefined);
    return seen !== undefined && renewal?.renewed === true;
  };
  t.true(await eventually(renewed, { timeoutMs: 60_000, everyMs: 100, what: 'a renewal' }));
});

test('a connection that hears of a failover while it asks a sentinel for the master is used again', async (t) => {
  const master = await PrivateRedis.start();
  t.teardown(() => master.stop());
  const sentinel = await PrivateRedis.start({ sentinelOf: master });
  t.teardown(() => sentinel.stop());
  const closing = new AbortController();
  t.teardown(() => closing.abort());
  const settings = {
    url: `redis+sentinel://127.0.0.1:${sentinel.port}/troupe`,
    commandTimeoutMs: config.memberStoreTimeoutMs,
    connectTimeoutMs: config.memberStoreTimeoutMs,
    reconnectBaseMs: config.reconnectBaseMs,
    reconnectMaxMs: config.reconnectBaseMs,
    onError: () => undefined,
    time: systemTime,
    closed: closing.signal,
  };
  const connection = connectRedis(settings, 'hints');
  await whenReady(connection, 20_000);
  let hints = 0;
  connection.on('message', () => {
    hints += 1;
  });
  await connection.subscribe('failovers');
  sentinel.freeze();
  await master.kill();
  await eventually(() => connection.status === 'connecting', { everyMs: 1, what: 'it asks for the master' });
  // As ioredis does by itself when it hears of a promotion.
  connection.disconnect(true);
  await master.restart();
  sentinel.thaw();
  const heard = async (): Promise<boolean> => {
    await master.command((redis) => redis.publish('failovers', 'now'));
    return hints > 0;
  };
  t.true(await eventually(heard, { timeoutMs: 60_000, everyMs: 100, what: 'a hint' }));
});

test('a connection that replaces a lost one is not ended by the silence of that one', async (t) => {
  const server = await PrivateRedis.start();
  t.teardown(() => server.stop());
  const closing = new AbortController();
  t.teardown(() => closing.abort());
  const silenceMs = 1_500;
  const settings = {
    url: server.url,
    commandTimeoutMs: silenceMs / 3,
    connectTimeoutMs: 5_000,
    reconnectBaseMs: 10,
    reconnectMaxMs: 10,
    onError: () => undefined,
    time: systemTime,
    closed: closing.signal,
  };
  const connection = connectRedis(settings, 'commands');
  await whenReady(connection, 20_000);
  server.freeze();
  await t.throwsAsync(() => connection.get('key'));
  await server.kill();
  await server.restart();
  let closes = 0;
  await eventually(() => connection.status === 'ready', { everyMs: 5, what: 'the next connection' });
  connection.on('close', () => {
    closes += 1;
  });
  await delay(silenceMs + 200);
  t.is(closes, 0);
});

test('a Redis that was killed and restarted is used again, with a new mark', async (t) => {
  const server = await PrivateRedis.start();
  t.teardown(() => server.stop());
  const store = await open(t, server.url, 'a');
  const { generation } = await joined(store);
  await server.kill();
  await t.throwsAsync(() => store.renew(lease('p1', 2), generation));
  await server.restart();
  const renewal = await eventually(() => store.renew(lease('p1', 3), generation).catch(() => undefined), {
    what: 'a renewal after the restart',
  });
  t.true(renewal.renewed);
  t.not(renewal.generation, generation);
});

test('hints arrive again after a lost connection', async (t) => {
  const server = await PrivateRedis.start({ persist: true });
  t.teardown(() => server.stop());
  const [one, other] = await Promise.all([open(t, server.url, 'a'), open(t, server.url, 'a')]);
  let hints = 0;
  other.onChange(() => {
    hints += 1;
  });
  await server.restart();
  let number = 0;
  const hinted = async (): Promise<boolean> => {
    number += 1;
    await one.renew(lease(`p${number}`, 1), undefined).catch(() => undefined);
    return hints > 0;
  };
  t.true(await eventually(hinted, { everyMs: 100, what: 'a hint on the new connection' }));
});

test('commands to a frozen Redis fail within their time-out, and it is used again after it thaws', async (t) => {
  const server = await PrivateRedis.start();
  t.teardown(() => server.stop());
  const store = await open(t, server.url, 'a');
  await joined(store);
  server.freeze();
  // Redis does not answer before it thaws: what ends the command is its time-out.
  await t.throwsAsync(() => store.renew(lease('p1', 2), undefined));
  server.thaw();
  const again = await eventually(() => store.renew(lease('p1', 3), undefined).catch(() => undefined), {
    what: 'a renewal after the thaw',
  });
  t.true(again.renewed);
});

test('an unreachable Redis is reported', async (t) => {
  const url = `redis://127.0.0.1:${await freePort()}`;
  const hasty = clusterConfig({ memberStoreStartMs: 300 });
  await t.throwsAsync(() => open(t, url, 'a', hasty), {
    message: /membership_unavailable: Redis did not answer/,
  });
});

test('an invalid record is refused with an error that quotes it', async (t) => {
  const url = await sharedRedisUrl();
  const cluster = systemRandom.id();
  const store = await open(t, url, cluster, patient);
  const redis = new Redis(url);
  t.teardown(async () => {
    await redis.del(`{troupe:${cluster}}:members`);
    redis.disconnect();
  });
  await redis.hset(`{troupe:${cluster}}:members`, 'lease:p1', 'nonsense');
  await t.throwsAsync(() => store.snapshot(), { message: /invalid lease: nonsense/ });
});

test('addresses name a server, sentinels or a cluster, and the error for an invalid one omits the password', (t) => {
  t.deepEqual(parseRedisAddress('rediss://u:p@h:1/2'), { form: 'single', url: 'rediss://u:p@h:1/2' });
  const access = { username: undefined, password: 's:ecret', db: 2, isEncrypted: false };
  t.deepEqual(parseRedisAddress('redis+sentinel://:s%3Aecret@a:1,b/main/2'), {
    form: 'sentinel',
    name: 'main',
    sentinels: [
      { host: 'a', port: 1 },
      { host: 'b', port: 26_379 },
    ],
    access,
  });
  t.deepEqual(parseRedisAddress('rediss+cluster://[::1]:7000,b'), {
    form: 'cluster',
    nodes: [
      { host: '::1', port: 7_000 },
      { host: 'b', port: 6_379 },
    ],
    access: { ...access, password: undefined, db: 0, isEncrypted: true },
  });
  for (const wrong of ['http://:secret@h', 'redis+sentinel://:secret@a:1', 'redis+cluster://:secret@a:b']) {
    const error = t.throws(() => parseRedisAddress(wrong));
    t.false(error?.message.includes('secret'));
  }
});

test('what Redis executes after its sender gave up changes nothing', async (t) => {
  const server = await PrivateRedis.start();
  t.teardown(() => server.stop());
  const [one, other] = await Promise.all([open(t, server.url, 'a'), open(t, server.url, 'a', patient)]);
  const { generation } = await joined(one);
  const vote = { generation, process: processId('p1'), renewals: 1, voter: processId('p2') };
  const removal = { votesNeeded: 1, voteMs: 60_000, silenceMs: 0 };
  const view = makeView(viewNumber(1), [member('p1')]);
  // The server knows the scripts from here on; one that it does not know would be sent again, and not late.
  t.is((await other.remove({ ...vote, ...removal, renewals: 9 })).outcome, 'refuted');
  t.false(await other.publish(view, { generation: 'another', follows: emptyView }));
  const redis = new Redis(server.url);
  t.teardown(() => redis.disconnect());
  // Longer than the sender waits, and shorter than its connection lasts without an answer.
  await redis.call('CLIENT', 'PAUSE', '2000', 'ALL');
  await Promise.all([
    t.throwsAsync(one.renew(lease('p1', 2), generation)),
    t.throwsAsync(one.remove({ ...vote, ...removal })),
    t.throwsAsync(one.publish(view, { generation, follows: emptyView })),
  ]);
  const { leases, view: published } = await other.snapshot();
  t.deepEqual(
    leases.map(({ renewals }) => renewals),
    [1],
  );
  t.is(published, undefined);
});

test('a promoted replica gets a new mark, and the old master keeps its own', async (t) => {
  const master = await PrivateRedis.start();
  t.teardown(() => master.stop());
  const replica = await PrivateRedis.start({ replicaOf: master });
  t.teardown(() => replica.stop());
  const old = await open(t, master.url, 'a', patient);
  const before = await old.renew(lease('p1', 1), undefined);
  const copied = async (): Promise<boolean> =>
    (await replica.command((redis) => redis.exists('{troupe:a}:members'))) === 1;
  await eventually(copied, { timeoutMs: 20_000, what: 'the replica has the lease' });
  await replica.command((redis) => redis.replicaof('NO', 'ONE'));
  const promoted = await open(t, replica.url, 'a', patient);
  const first = makeView(viewNumber(1), [member('p1')]);
  t.false(
    await promoted.publish(first, { generation: before.generation, follows: emptyView }),
    'what rests on the content of the old master is refused',
  );
  const after = await promoted.renew(lease('p2', 1), undefined);
  t.not(after.generation, before.generation);
  t.is(after.leases.length, 2);
  t.is((await old.snapshot()).generation, before.generation);
});

test('content that another server wrote gets a new mark at the next renewal', async (t) => {
  const { store, redis, members } = await inspected(t);
  const before = await store.renew(lease('p1', 1), undefined);
  // As after a failover behind an open connection.
  await redis.hset(members, 'mark-server', '0'.repeat(40));
  const after = await store.renew(lease('p1', 2), before.generation);
  t.not(after.generation, before.generation);
  t.true(after.renewed);
});

test('a vote counts for a bounded time, whatever others vote meanwhile', async (t) => {
  const { store, redis, votes } = await inspected(t);
  const { generation } = await store.renew(lease('p1', 1), undefined);
  const request = { generation, process: processId('p1'), renewals: 1, voteMs: 60_000, silenceMs: 0 };
  const voted = (voter: string, votesNeeded: number) =>
    store.remove({ ...request, voter: processId(voter), votesNeeded });
  t.is((await voted('p2', 2)).outcome, 'more_votes');
  await redis.hincrby(votes, 'p1 1 p2', -60_001);
  t.is((await voted('p3', 2)).outcome, 'more_votes');
  t.is((await voted('p4', 2)).outcome, 'removed');
});
