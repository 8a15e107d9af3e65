import { once } from 'node:events';
import { createServer } from 'node:net';
import test from 'ava';
import { processId } from '../../../../cluster/ids/ids.js';
import { GrpcPeers } from '../../../../cluster/links/grpc/peers.js';
import type { Listener } from '../../../../cluster/links/pipe.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { member } from '../../../contracts/member-store.js';
import { linkCluster, linkConfig, linkContract } from '../../../contracts/link.js';
import { eventually } from '../../../support/clocks/eventually.js';

linkContract(test, 'gRPC', (t) =>
  Promise.resolve({
    process(name, secret) {
      const peers = new GrpcPeers(
        { self: processId(name), cluster: linkCluster, secret, host: '127.0.0.1', port: 0 },
        linkConfig,
        systemTime,
        systemRandom,
      );
      let listener: Listener | undefined;
      const vanish = async (): Promise<void> => listener?.close();
      t.teardown(vanish);
      return {
        time: systemTime,
        random: systemRandom,
        transport: {
          dial: (peer, signal) => peers.dial(peer, signal),
          listen: async (accept) => (listener = await peers.listen(accept)),
        },
        vanish,
      };
    },
    until: (what, holds) => eventually(holds, { what, timeoutMs: 30_000 }),
  }),
);

test('a link goes straight to its peer, whatever proxy the environment names', async (t) => {
  const asked: string[] = [];
  const proxy = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      asked.push(data.toString('latin1'));
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const bound = proxy.address();
  if (bound === null || typeof bound === 'string') throw new Error('the proxy listens on TCP');
  const peers = new GrpcPeers(
    { self: processId('p1'), cluster: linkCluster, secret: 's', host: '127.0.0.1', port: 0 },
    linkConfig,
    systemTime,
    systemRandom,
  );
  let outcome: string | undefined;
  const listener = await peers.listen(() => {
    outcome ??= 'accepted';
  });
  t.teardown(async () => {
    await listener.close();
    proxy.close();
  });
  const names = ['grpc_proxy', 'https_proxy', 'http_proxy'];
  const before = names.map((name) => process.env[name]);
  for (const name of names) process.env[name] = `http://127.0.0.1:${bound.port}`;
  const dialed = peers.dial({ ...member('p2'), address: listener.address }, new AbortController().signal);
  // Other tests of this process do not see the change: grpc-js reads it when a channel is made.
  for (const [index, name] of names.entries()) {
    const value = before[index];
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  const pipe = await dialed;
  pipe.onClose((error) => {
    outcome ??= `closed: ${error?.message ?? ''}`;
  });
  t.is(await eventually(() => outcome, { what: 'the link opens or fails' }), 'accepted');
  t.deepEqual(asked, []);
  pipe.close();
});
