import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import type { EdgeBounds } from '../../../../src/http/edge/bounds.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { anyone, declare } from '../../../../src/http/operations/index.js';
import { startEdge } from '../../../support/servers/edge.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { RawConnection } from '../../../support/clients/raw-http.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';

const megabyte = 1024 * 1024;

async function startUploads(
  t: ExecutionContext,
  options: {
    readonly refuses?: boolean;
    readonly bounds?: Partial<EdgeBounds>;
    readonly proxied?: boolean;
  } = {},
) {
  const edge = await startEdge(
    [
      declare({
        name: 'a.b',
        method: 'POST',
        path: '/upload',
        title: 'Upload',
        access: anyone(),
        body: z.looseObject({}),
        bodyRules: { maxBytes: 20 * megabyte },
        output: z.unknown(),
        handle: ({ body }) => ({ letters: JSON.stringify(body).length }),
      }),
    ],
    {
      ...(options.bounds === undefined ? {} : { bounds: options.bounds }),
      ...(options.proxied === true ? { trustedProxies: ['127.0.0.0/8'] } : {}),
      ...(options.refuses === true
        ? {
            authenticator: {
              // As for a key that is not cached: the answer comes in a later tick.
              authenticate: async () => Promise.reject(new PlatformError('invalid_api_key')),
            },
          }
        : {}),
    },
  );
  t.teardown(edge.close);
  return edge;
}

function head(length: number, more = ''): string {
  return `POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n${more}\r\n`;
}

test.serial('the rest after a refusal is dropped, and the connection closes', async (t) => {
  t.timeout(60_000);
  const edge = await startUploads(t, { refuses: true });
  const before = process.memoryUsage();
  const piece = Buffer.alloc(megabyte, 'x');
  const connections = Array.from({ length: 20 }, () => {
    const connection = new RawConnection(t, edge.port).send(head(20 * megabyte));
    // All but the last one, so that the body never ends by itself.
    for (let sent = 0; sent < 10; sent += 1) connection.socket.write(piece);
    return connection;
  });
  await Promise.all(connections.map(async (connection) => connection.answered('a body of nobody')));
  t.is(edge.server.bodyBudget.bytes, 0);
  for (const connection of connections) {
    t.deepEqual(connection.statuses, [401]);
    t.regex(connection.received, /\r\nconnection: close\r\n/i);
  }
  await Promise.all(connections.map(async (connection) => connection.ended('a refused body')));
  const grown = (process.memoryUsage().arrayBuffers - before.arrayBuffers) / megabyte;
  t.log(`200 MB sent, ${grown.toFixed(1)} MB more in buffers`);
  // Other tests of this process send too, and their garbage is collected at some time.
  t.true(grown < 100);
});

test('a short refused body is accepted, and its connection continues', async (t) => {
  const edge = await startUploads(t, { refuses: true });
  const connection = new RawConnection(t, edge.port).send(head(10));
  await connection.answered('the first request');
  connection.send('{"a":"bc"}').send(`${head(2)}{}`);
  await eventually(() => connection.statuses.length === 2, { what: 'the second answer' });
  t.deepEqual(connection.statuses, [401, 401]);
  t.false(connection.closed);
});

test('the bodies of one address are bounded, and the next is refused with 503 and Retry-After', async (t) => {
  const edge = await startUploads(t, { bounds: { bodyBytesPerAddress: 3 * megabyte } });
  const held = [1, 2].map(() => {
    const connection = new RawConnection(t, edge.port).send(head(2 * megabyte));
    connection.socket.write(Buffer.alloc(megabyte, ' '));
    return connection;
  });
  await eventually(() => edge.server.bodyBudget.bytes >= 2 * megabyte, { what: 'two halves' });
  const refused = new RawConnection(t, edge.port).send(head(2 * megabyte));
  refused.socket.write(Buffer.alloc(2 * megabyte, ' '));
  await refused.answered('the third body');
  t.deepEqual(refused.statuses, [503], refused.received);
  t.regex(refused.received, /\r\nretry-after: 1\r\n/i);
  t.deepEqual(
    held.flatMap(({ statuses }) => statuses),
    [],
    'those that were there before go on',
  );
  for (const { socket } of held) socket.destroy();
  await eventually(() => edge.server.bodyBudget.bytes === 0, { what: 'the bytes of clients that left' });
  const again = new RawConnection(t, edge.port).send(`${head(2)}{}`);
  await again.answered('a body when there is room');
  t.deepEqual(again.statuses, [200]);
});

test('when the node is full, a body of the client that holds most is dropped', async (t) => {
  const edge = await startUploads(t, { proxied: true, bounds: { bodyBytes: 4 * megabyte } });
  const from = (address: string, length: number): RawConnection =>
    new RawConnection(t, edge.port).send(head(length, `X-Forwarded-For: ${address}\r\n`));
  const greedy = [1, 2, 3].map(() => {
    const connection = from('203.0.113.1', 2 * megabyte);
    connection.socket.write(Buffer.alloc(megabyte, ' '));
    return connection;
  });
  await eventually(() => edge.server.bodyBudget.bytes >= 3 * megabyte, { what: 'the greedy bodies' });
  const modest = from('198.51.100.7', 1.5 * megabyte);
  modest.send(`{"a":"${'x'.repeat(1.5 * megabyte - 8)}"}`);
  await modest.answered('the modest body');
  t.deepEqual(modest.statuses, [200], modest.received);
  await eventually(() => greedy.some(({ statuses }) => statuses.includes(503)), { what: 'the eviction' });
});

test('a million pieces of one byte cost little more than a megabyte', async (t) => {
  t.timeout(60_000);
  const edge = await startUploads(t);
  const pieces = 300_000;
  const before = process.memoryUsage();
  const connection = new RawConnection(t, edge.port);
  connection.send('POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  connection.send('1\r\n \r\n'.repeat(pieces));
  await eventually(() => edge.server.bodyBudget.bytes >= pieces, { what: 'all pieces' });
  t.true(edge.server.bodyBudget.bytes < 2 * pieces, 'what the blocks take is what is counted');
  const grown = process.memoryUsage().heapUsed - before.heapUsed;
  t.log(`${(grown / megabyte).toFixed(1)} MB of heap`);
  connection.send('2\r\n{}\r\n0\r\n\r\n');
  await connection.answered('the body');
  t.deepEqual(connection.statuses, [200]);
});

test('a body with too many keys is refused before it has arrived completely', async (t) => {
  const edge = await startUploads(t);
  const keys = Array.from({ length: 60_000 }, (_, index) => `"k${index}":1`).join(',');
  const connection = new RawConnection(t, edge.port).send(head(18 * megabyte)).send(`{${keys}`);
  await connection.answered('too many keys');
  t.deepEqual(connection.statuses, [400], connection.received);
  t.regex(connection.received, /validation_error.*50000 keys and list elements/s);
});

test('a 413 arrives through a balancer while the client still sends', async (t) => {
  t.timeout(60_000);
  const edge = await startUploads(t);
  const proxy = await TcpProxy.before(edge.url);
  t.teardown(() => proxy.close());
  const connection = new RawConnection(t, Number(new URL(proxy.url).port));
  connection.send('POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  // Half of it is still on its way when the bound of 20 MB is passed.
  const piece = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(megabyte, ' '), Buffer.from('\r\n')]);
  for (let sent = 0; sent < 30; sent += 1) connection.socket.write(piece);
  connection.send('0\r\n\r\n');
  await eventually(() => connection.received.endsWith('}') || connection.closed, {
    what: 'the whole answer',
  });
  t.deepEqual(connection.statuses, [413], connection.received);
  const [, length] = /content-length: (\d+)/i.exec(connection.received) ?? [];
  const body = connection.received.slice(connection.received.indexOf('\r\n\r\n') + 4);
  t.is(body.length, Number(length));
  t.is((JSON.parse(body) as { error: string }).error, 'payload_too_large');
});

test('a client that sends without end after its 413 is disconnected', async (t) => {
  t.timeout(60_000);
  const edge = await startUploads(t);
  const connection = new RawConnection(t, edge.port);
  connection.send('POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  const piece = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(megabyte, ' '), Buffer.from('\r\n')]);
  let sent = 0;
  const feed = (): void => {
    while (!connection.closed && sent < 1_000) {
      sent += 1;
      if (!connection.socket.write(piece)) return;
    }
  };
  connection.socket.on('drain', feed);
  feed();
  await connection.ended('an endless body');
  t.deepEqual(connection.statuses, [413]);
  t.log(`${sent} MB were written`);
  t.true(sent < 100);
});
