import test from 'ava';
import { z } from 'zod';
import { anyone, declare, eventStream, SocketReply } from '../../../../src/http/operations/index.js';
import { startEdge } from '../../../support/servers/edge.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { RawConnection } from '../../../support/clients/raw-http.js';

const clientsOfKind = 100;
const megabyte = 1024 * 1024;
const pieceBytes = 64 * 1024;
/** The unwritten data is a piece or two; a WebSocket may have ten times as much. */
const megabytesEach = 0.5;

/** Clients that hold a connection. The native idle time, ten seconds and a few, ends all of them. */
const kinds: readonly { readonly what: string; readonly request: string }[] = [
  { what: 'connections without a request', request: '' },
  { what: 'requests with half a head', request: 'GET /events HTTP/1.1\r\nHost: a\r\nX-A: b' },
  {
    what: 'bodies that stop',
    request: 'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n{"a":"',
  },
  { what: 'streams that nobody reads', request: 'GET /events HTTP/1.1\r\nHost: a\r\n\r\n' },
  { what: 'big answers that nobody reads', request: 'GET /big HTTP/1.1\r\nHost: a\r\n\r\n' },
  {
    what: 'WebSockets that nobody reads',
    request:
      'GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
  },
];

const piece = `data: ${'x'.repeat(pieceBytes)}\n\n`;
const big = 'y'.repeat(pieceBytes * 2);

async function startSlow() {
  return startEdge([
    declare({
      name: 'a.events',
      method: 'GET',
      path: '/events',
      title: 'Events',
      access: anyone(),
      output: z.unknown(),
      handle: () =>
        eventStream(async (writer) => {
          while (!writer.gone.aborted) if (!writer.write(piece)) await writer.drained();
        }),
    }),
    declare({
      name: 'a.socket',
      method: 'GET',
      path: '/socket',
      title: 'Socket',
      access: anyone(),
      output: z.unknown(),
      handle: () =>
        new SocketReply(async (socket) => {
          while (!socket.gone.aborted) if (!socket.send(piece)) await socket.drained();
        }),
    }),
    declare({
      name: 'a.upload',
      method: 'POST',
      path: '/upload',
      title: 'Upload',
      access: anyone(),
      body: z.looseObject({}),
      output: z.unknown(),
      handle: () => ({}),
    }),
    declare({
      name: 'a.big',
      method: 'GET',
      path: '/big',
      title: 'Big',
      access: anyone(),
      output: z.unknown(),
      handle: () => big,
    }),
  ]);
}

test('clients that do not read or do not send are disconnected within the idle time, and cost little until then', async (t) => {
  t.timeout(120_000);
  const edge = await startSlow();
  t.teardown(edge.close);
  const before = process.memoryUsage().rss;
  const open = kinds.map(({ what, request }) => ({
    what,
    connections: Array.from({ length: clientsOfKind }, () => {
      const connection = new RawConnection(t, edge.port);
      connection.socket.pause();
      if (request !== '') connection.send(request);
      return connection;
    }),
  }));
  const all = kinds.length * clientsOfKind;
  await eventually(() => edge.server.connections.size === all, { what: 'all connections' });
  const beganAt = performance.now();
  let most = 0;
  await eventually(
    () => {
      most = Math.max(most, process.memoryUsage().rss - before);
      return edge.server.connections.size === 0;
    },
    { what: 'the end of all', timeoutMs: 90_000, everyMs: 50 },
  );
  t.log(
    `${all} clients of ${open.length} kinds: gone after ${((performance.now() - beganAt) / 1_000).toFixed(0)} s, ` +
      `at most ${(most / megabyte).toFixed(0)} MB more, both ends in this process`,
  );
  t.true(most / megabyte < all * megabytesEach, `${(most / megabyte).toFixed(0)} MB`);
  t.is(edge.server.bodyBudget.bytes, 0);
  t.is(edge.server.runningRequests, 0);
});
