import { connect } from 'node:net';
import test from 'ava';
import { z } from 'zod';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { apiKey, declare, SocketReply, type SocketWriter } from '../../../../src/http/operations/index.js';
import { keyCaller, startEdge } from '../../../support/servers/edge.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { openSocket } from '../../../support/clients/sockets.js';

/** A socket whose handler follows the test and stays until the other side leaves. */
function speaking(opened: (socket: SocketWriter, topic: string) => Promise<void>) {
  return declare({
    name: 'test.socket',
    method: 'GET',
    path: '/socket/:topic',
    title: 'Socket',
    access: apiKey('sessions:read'),
    params: z.object({ topic: z.string() }),
    query: z.object({ fail: z.string().optional() }),
    output: z.string(),
    handle: ({ params, query }) => {
      if (query.fail !== undefined) throw new PlatformError('conflict');
      return new SocketReply(async (socket) => {
        await opened(socket, params.topic);
        if (!socket.gone.aborted)
          await new Promise<void>((resolve) => socket.gone.addEventListener('abort', () => resolve()));
      });
    },
  });
}

const quiet = speaking(async () => undefined);
const caller = keyCaller('member');

test("a socket gets its handler's messages and those published under its topics", async (t) => {
  const edge = await startEdge(
    [
      speaking(async (socket, topic) => {
        socket.send('welcome');
        socket.join(topic);
      }),
    ],
    { caller },
  );
  t.teardown(edge.close);
  const [one, other] = [await openSocket(`${edge.url}/socket/a`), await openSocket(`${edge.url}/socket/b`)];
  await eventually(() => one.messages.length === 1 && other.messages.length === 1);
  edge.server.publish('a', 'for a');
  edge.server.publish('b', 'for b');
  await eventually(() => one.messages.length === 2 && other.messages.length === 2);
  t.deepEqual(one.messages, ['welcome', 'for a']);
  t.deepEqual(other.messages, ['welcome', 'for b']);
});

test('a socket request is authenticated like any other, and refused over HTTP', async (t) => {
  const edge = await startEdge([quiet], { caller });
  t.teardown(edge.close);
  const handshake = (path: string) =>
    rawRequest(
      edge.port,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
  const refused = await handshake('/socket/a?fail=1');
  t.regex(refused, /^HTTP\/1\.1 409 Conflict\r\n/);
  t.regex(refused, /"error":"conflict"/);
  t.regex(await handshake('/nowhere'), /^HTTP\/1\.1 404 /);
  const accepted = await handshake('/socket/a');
  t.regex(accepted, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
  t.regex(accepted, /sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/i);
  t.regex(accepted, /X-RateLimit-Limit: 10\r\n/i);
  t.regex(accepted, /X-Request-Id: /i);
});

test('a plain request to a socket operation gets an error that names the upgrade', async (t) => {
  const edge = await startEdge([quiet], { caller });
  t.teardown(edge.close);
  const response = await fetch(`${edge.url}/socket/a`);
  t.is(response.status, 426);
  t.like(await response.json(), { error: 'upgrade_required', status: 'error' });
});

test('a socket request to an ordinary operation is answered as usual', async (t) => {
  const plain = declare({
    name: 'plain.get',
    method: 'GET',
    path: '/plain',
    title: 'Plain',
    access: apiKey(null),
    output: z.object({ ok: z.boolean() }),
    handle: () => ({ ok: true }),
  });
  const edge = await startEdge([plain], { caller });
  t.teardown(edge.close);
  const answer = await rawRequest(
    edge.port,
    'GET /plain HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  t.regex(answer, /^HTTP\/1\.1 200 OK/);
  t.regex(answer, /\{"ok":true\}/);
});

test('a socket is closed with 4401 when its credential ends', async (t) => {
  const edge = await startEdge([quiet], { caller });
  t.teardown(edge.close);
  const socket = await openSocket(`${edge.url}/socket/a`);
  edge.server.streams.cut({ key: 'of somebody else' });
  t.is(edge.server.streams.size, 1);
  edge.server.streams.cut({ key: caller.keyId });
  await eventually(() => socket.closedWith() === 4401);
  await eventually(() => edge.server.streams.size === 0);
  t.is(edge.reports.at(-1)?.exchange.status, 101);
});

test('a handler that fails closes its socket with 1011, one that returns with 1000', async (t) => {
  const edge = await startEdge(
    [
      declare({
        name: 'test.ending',
        method: 'GET',
        path: '/ending',
        title: 'Ends',
        access: apiKey(null),
        query: z.object({ how: z.string() }),
        output: z.string(),
        handle: ({ query }) =>
          new SocketReply(async () => {
            if (query.how === 'badly') throw new Error('planned');
          }),
      }),
    ],
    { caller },
  );
  t.teardown(edge.close);
  const codes = async (how: string) => {
    const error = await t.throwsAsync(async () => {
      const socket = await openSocket(`${edge.url}/ending?how=${how}`);
      await eventually(() => socket.closedWith() !== undefined);
      throw new Error(`the socket was closed with ${socket.closedWith()}`);
    });
    return error.message;
  };
  t.regex(await codes('well'), /1000/);
  t.regex(await codes('badly'), /1011/);
  t.deepEqual(
    edge.reports.map(({ errorCode }) => errorCode),
    [undefined, 'internal_error'],
  );
});

test('a stopping node closes its sockets with 1001 and waits for none', async (t) => {
  const edge = await startEdge([quiet], { caller });
  const socket = await openSocket(`${edge.url}/socket/a`);
  t.is(edge.server.runningRequests, 0, 'an open socket is no running request');
  await edge.server.close(AbortSignal.timeout(10_000));
  await eventually(() => socket.closedWith() === 1001);
  t.pass();
});

test('a client that sends more than its limit is disconnected', async (t) => {
  const edge = await startEdge([quiet], { caller });
  t.teardown(edge.close);
  const { WebSocket } = await import('undici');
  const socket = new WebSocket(`ws://127.0.0.1:${edge.port}/socket/a`);
  let closed = false;
  socket.addEventListener('close', () => (closed = true));
  socket.addEventListener('error', () => undefined);
  socket.addEventListener('open', () => {
    socket.send('small');
    socket.send('x'.repeat(5_000));
  });
  await eventually(() => closed);
  t.pass();
});

test('a reader that does not read is disconnected before it fills the memory', async (t) => {
  const sent = { bytes: 0, gone: false };
  const text = 'x'.repeat(10_000);
  const edge = await startEdge(
    [
      speaking(async (socket) => {
        while (!socket.gone.aborted && sent.bytes < 512 * 1024 * 1024) {
          socket.send(text);
          sent.bytes += text.length;
          await new Promise(setImmediate);
        }
        sent.gone = socket.gone.aborted;
      }),
    ],
    { caller },
  );
  t.teardown(edge.close);
  const client = connect(edge.port, '127.0.0.1', () => {
    client.pause();
    client.write(
      'GET /socket/a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
  });
  t.teardown(() => void client.destroy());
  client.on('error', () => undefined);
  await eventually(() => sent.gone);
  t.true(sent.bytes < 64 * 1024 * 1024, `${sent.bytes} bytes were taken`);
});

/** The bytes of one answer, up to its body or the end of its head. */
function rawRequest(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const client = connect(port, '127.0.0.1', () => client.write(request));
    let text = '';
    client.on('data', (bytes) => {
      text += bytes.toString('latin1');
      const bodyAt = text.indexOf('\r\n\r\n');
      if (bodyAt < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (text.length >= bodyAt + 4 + length) client.destroy();
    });
    client.on('close', () => resolve(text));
    client.on('error', reject);
  });
}
