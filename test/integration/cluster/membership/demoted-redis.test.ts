// A Redis that becomes a replica keeps its clients, which find the new master only over new connections.

import test from 'ava';
import { clusterConfig } from '../../../../cluster/config.js';
import { connectRedis, whenReady } from '../../../../cluster/membership/redis/connection.js';
import { openRedisMembers } from '../../../../cluster/membership/redis/member-store.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { lease } from '../../../contracts/member-store.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { PrivateRedis } from '../../../support/servers/redis.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';

const config = clusterConfig();

test('the store leaves a master that became a replica, and renews at the one where the address leads now', async (t) => {
  const [former, master] = await Promise.all([PrivateRedis.start(), PrivateRedis.start()]);
  const proxy = await TcpProxy.before(former.url);
  const store = await openRedisMembers({
    url: proxy.url,
    cluster: 'a',
    config,
    random: systemRandom,
    time: systemTime,
  });
  t.teardown(async () => {
    await store.close();
    await proxy.close();
    await Promise.all([former.stop(), master.stop()]);
  });
  let renewals = 0;
  const renewed = async (): Promise<boolean> => {
    renewals += 1;
    const renewal = await store.renew(lease('p1', renewals), undefined).catch(() => undefined);
    const seen = await store.snapshot().catch(() => undefined);
    return renewal?.renewed === true && seen?.leases.length === 1;
  };
  await eventually(renewed, { everyMs: 100, what: 'a renewal' });
  await former.command((redis) => redis.replicaof(master.host, master.port));
  await t.throwsAsync(() => store.renew(lease('p1', 99), undefined), { message: /READONLY/ });
  proxy.lead(master.url);
  await eventually(renewed, { timeoutMs: 30_000, everyMs: 100, what: 'a renewal at the new master' });
  t.is(await master.command((redis) => redis.exists('{troupe:a}:members')), 1);
});

for (const form of ['single', 'cluster'] as const) {
  test(`a connection of the form ${form} is made again where its server is a replica, but not at each command`, async (t) => {
    const server = await PrivateRedis.start({ cluster: form === 'cluster' });
    t.teardown(() => server.stop());
    const closing = new AbortController();
    t.teardown(() => closing.abort());
    let nowMs = 0;
    const connection = connectRedis(
      {
        url: form === 'cluster' ? server.url.replace('redis://', 'redis+cluster://') : server.url,
        commandTimeoutMs: 20_000,
        connectTimeoutMs: 20_000,
        reconnectBaseMs: 10,
        reconnectMaxMs: 1_000,
        onError: () => undefined,
        time: {
          monotonicMs: () => nowMs,
          wallMs: () => systemTime.wallMs(),
          after: (delayMs, action) => systemTime.after(delayMs, action),
          soon: (action) => systemTime.soon(action),
        },
        closed: closing.signal,
      },
      'commands',
    );
    await whenReady(connection, 20_000);
    const id = (): Promise<unknown> =>
      eventually(() => connection.call('CLIENT', 'ID').catch(() => undefined), {
        timeoutMs: 20_000,
        what: 'an answer',
      });
    const fail = (text: string) =>
      t.throwsAsync(() => connection.eval('return redis.error_reply(ARGV[1])', 1, 'key', text));
    const first = await id();
    await fail('ERR something else');
    t.is(await id(), first);
    await fail("READONLY You can't write against a read only replica.");
    const renewed = await eventually(async () => {
      const next = await id();
      return next !== first && next;
    });
    nowMs += 999;
    await fail('MASTERDOWN Link with MASTER is down');
    t.is(await id(), renewed, 'not so soon again');
    nowMs += 1;
    await fail('MASTERDOWN Link with MASTER is down');
    t.true(await eventually(async () => (await id()) !== renewed));
  });
}
