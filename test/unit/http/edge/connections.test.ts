import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { systemTime } from '../../../../cluster/index.js';
import { Connections } from '../../../../src/http/edge/connections.js';
import { kernelConnections } from '../../../../src/http/edge/kernel-connections.js';
import { type Peer, PeerReader } from '../../../../src/http/edge/peers.js';
import { anyone, declare, SocketReply } from '../../../../src/http/operations/index.js';
import { type startEdge as Start, startEdge } from '../../../support/servers/edge.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { RawConnection } from '../../../support/clients/raw-http.js';

const ping = declare({
  name: 'a.b',
  method: 'GET',
  path: '/ping',
  title: 'Ping',
  access: anyone(),
  output: z.unknown(),
  handle: () => ({ ok: true }),
});
const socket = declare({
  name: 'a.socket',
  method: 'GET',
  path: '/socket',
  title: 'Socket',
  access: anyone(),
  output: z.unknown(),
  handle: () =>
    new SocketReply(async ({ gone }) => {
      if (!gone.aborted)
        await new Promise((resolve) => gone.addEventListener('abort', resolve, { once: true }));
    }),
});
const request = 'GET /ping HTTP/1.1\r\nHost: a\r\n\r\n';

async function start(t: ExecutionContext, options: Parameters<typeof Start>[1]) {
  const edge = await startEdge([ping, socket], options);
  t.teardown(edge.close);
  return edge;
}

/** Opens so many and gives those that were not closed at once. */
async function open(t: ExecutionContext, edge: Awaited<ReturnType<typeof start>>, count: number) {
  const { connections } = edge.server;
  const { size, refused } = connections;
  const all = Array.from({ length: count }, () => new RawConnection(t, edge.port));
  await eventually(() => connections.size + connections.refused === size + refused + count, {
    what: 'all connections',
  });
  await eventually(() => all.filter(({ closed }) => closed).length >= connections.refused - refused, {
    what: 'those refused',
  });
  return all.filter(({ closed }) => !closed);
}

test('connections of one address beyond its limit are closed at once, and admitted again when some end', async (t) => {
  const edge = await start(t, { bounds: { connectionsPerAddress: 20 } });
  const kept = await open(t, edge, 50);
  t.is(kept.length, 20);
  t.is(edge.server.connections.size, 20);
  for (const { socket } of kept.slice(0, 5)) socket.destroy();
  await eventually(() => edge.server.connections.size === 15, { what: 'those that ended' });
  const [again] = await open(t, edge, 1);
  again?.send(request);
  await again?.answered('a further connection');
  t.deepEqual(again?.statuses, [200]);
});

test('connections that end between two requests free their place too', async (t) => {
  const edge = await start(t, { bounds: { connectionsPerAddress: 10 } });
  for (let round = 0; round < 5; round += 1) {
    const kept = await open(t, edge, 10);
    t.is(kept.length, 10, `in round ${round}`);
    for (const connection of kept) connection.send(request);
    await Promise.all(kept.map(async (connection) => connection.answered('each')));
    for (const { socket } of kept) socket.destroy();
    await eventually(() => edge.server.connections.size === 0, { what: 'the end of all' });
  }
});

test('all connections of the node are bounded, including those of trusted proxies', async (t) => {
  const edge = await start(t, {
    trustedProxies: ['127.0.0.0/8'],
    bounds: { connectionsPerAddress: 5, connections: 30 },
  });
  t.is((await open(t, edge, 40)).length, 30);
});

test('WebSockets count until they close', async (t) => {
  const edge = await start(t, { bounds: { connectionsPerAddress: 10 } });
  const [connection] = await open(t, edge, 1);
  connection?.send(
    'GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
  );
  await connection?.answered('the request for a socket');
  t.deepEqual(connection?.statuses, [101]);
  t.is(edge.server.connections.size, 1);
  connection?.socket.destroy();
  await eventually(() => edge.server.connections.size === 0, { what: 'the end' });
});

/** The native side's part, played by the test. */
function played(bounds: { perAddress: number; perNode: number }, listed: Map<Peer, number> | undefined) {
  let tell: (response: unknown, change: number) => void = () => undefined;
  const connections = new Connections(bounds, new PeerReader([]), systemTime, async () => listed);
  connections.watch({ filter: (callback: typeof tell) => (tell = callback) } as never);
  const connect = (last: number): { refused: boolean; abort: () => void } => {
    const result = { refused: false, abort: (): void => undefined };
    tell(
      {
        getRemoteAddress: () => new Uint8Array([10, 0, 0, last]).buffer,
        onAborted: (heard: () => void) => (result.abort = heard),
        close: () => {
          result.refused = true;
          tell({}, -1);
        },
      },
      1,
    );
    return result;
  };
  return { connections, connect, end: () => tell({}, -1) };
}

test('an end of an unknown connection refuses nobody until the kernel has listed the connections', async (t) => {
  const listed = new Map<Peer, number>([[0x0a_00_00_01, 3]]);
  const { connections, connect, end } = played({ perAddress: 3, perNode: 100 }, listed);
  for (let made = 0; made < 3; made += 1) t.false(connect(1).refused);
  for (let made = 0; made < 3; made += 1) t.false(connect(2).refused);
  // Two of the second address ended between requests.
  end();
  end();
  t.false(connect(1).refused, 'perhaps it was this address that lost two');
  listed.set(0x0a_00_00_01, 4);
  listed.set(0x0a_00_00_02, 1);
  connect(1);
  await Promise.resolve();
  t.true(connect(1).refused, 'by the list it has four');
  t.false(connect(2).refused);
  t.true(connections.refused > 0);
});

test('a connection that ends before its first request is counted by its address', (t) => {
  const { connections, connect, end } = played({ perAddress: 2, perNode: 100 }, undefined);
  const first = connect(1);
  connect(1);
  t.true(connect(1).refused);
  end();
  first.abort();
  t.is(connections.size, 1);
  t.false(connect(1).refused);
  t.true(connect(1).refused);
});

test('the addresses of one /64 are one peer, and IPv4 is one in both spellings', (t) => {
  const reader = new PeerReader(['10.0.0.0/8', '2001:db8:1::/48']);
  const bytes = (hex: string): ArrayBuffer => new Uint8Array(Buffer.from(hex, 'hex')).buffer;
  const v6 = (tail: string): ArrayBuffer => bytes(`20010db8000200${tail}`);
  t.is(reader.read(v6('010000000000000001')), reader.read(v6('01ffffffffffffffff')));
  t.not(reader.read(v6('010000000000000001')), reader.read(v6('020000000000000001')));
  t.is(reader.read(bytes('0a000001')), reader.read(bytes('00000000000000000000ffff0a000001')));
  t.true(reader.isProxy(bytes('0a000001')));
  t.true(reader.isProxy(bytes('00000000000000000000ffff0a000001')));
  t.true(reader.isProxy(bytes('20010db8000100000000000000000001')));
  t.false(reader.isProxy(v6('010000000000000001')));
  t.false(reader.isProxy(bytes('0b000001')));
});

test('the kernel lists the connections of a port by peer', async (t) => {
  const edge = await start(t, {});
  await open(t, edge, 4);
  const listed = await kernelConnections(edge.port);
  // Other systems list nothing.
  t.deepEqual(listed && [...listed], process.platform === 'linux' ? [[0x7f_00_00_01, 4]] : undefined);
});
