import { createHash } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { anyone, declare, eventStream, RawReply } from '../../../../src/http/operations/index.js';
import { RawConnection } from '../../../support/clients/raw-http.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { startEdge } from '../../../support/servers/edge.js';

const megabyte = 1024 * 1024;
/** More than the buffers of both sockets take. */
const length = 24 * megabyte;
const bytes = Buffer.alloc(length, 'abcdefg');
const text = 'é'.repeat(300_000);
/** So many that both sockets' buffers are full before the last one, which is of a usual size. */
const fillers = 2_000;
const filler = 'f'.repeat(12_000);
const usual = 'u'.repeat(100_000);

function startLarge(bounds = {}) {
  const answering = (path: string, handle: () => unknown) =>
    declare({
      name: `a.${path}`,
      method: 'GET',
      path: `/${path}`,
      title: 'Large',
      access: anyone(),
      output: z.unknown(),
      handle,
    });
  return startEdge(
    [
      answering('bytes', () => new RawReply('application/octet-stream', bytes)),
      answering('text', () => ({ text })),
      answering('small', () => ({ fine: true })),
      answering('filler', () => ({ filler })),
      answering('usual', () => ({ usual })),
      answering('stream', () => eventStream(() => Promise.resolve(`${text.repeat(30)} and the end`))),
    ],
    { bounds },
  );
}

const request = (path: string): string => `GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

test('large answers arrive whole, and the connection takes further requests', async (t) => {
  const edge = await startLarge();
  t.teardown(edge.close);
  const hash = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');
  const response = await fetch(`${edge.url}/bytes`);
  t.is(response.headers.get('content-length'), String(length));
  t.is(hash(new Uint8Array(await response.arrayBuffer())), hash(bytes));
  t.deepEqual(await (await fetch(`${edge.url}/text`)).json(), { text });
  t.is((await fetch(`${edge.url}/bytes`, { method: 'HEAD' })).headers.get('content-length'), String(length));
  const connection = new RawConnection(t, edge.port);
  connection.send(request('text'));
  await eventually(() => connection.received.length > 600_000);
  connection.send(request('small'));
  await eventually(() => connection.received.endsWith('{"fine":true}'));
  t.is(edge.server.unsentAnswers.bytes, 0);
  t.is(edge.server.runningRequests, 0);
});

test('a large answer to the last request of a connection is counted too, and ends the connection', async (t) => {
  const edge = await startLarge();
  t.teardown(edge.close);
  const connection = new RawConnection(t, edge.port);
  connection.socket.pause();
  connection.send('GET /bytes HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
  await eventually(() => edge.server.unsentAnswers.bytes === length, { what: 'it is counted' });
  connection.socket.resume();
  await connection.ended('a connection after its last answer');
  t.true(connection.received.length > length);
  t.regex(connection.received.slice(0, 1_000), /^connection: close\r$/im);
  t.is(edge.server.unsentAnswers.bytes, 0);
});

test('what clients have not taken of large answers is bounded, and given back', async (t) => {
  const edge = await startLarge({ answerBytesPerAddress: 2 * length });
  t.teardown(edge.close);
  const clients = Array.from({ length: 4 }, () => new RawConnection(t, edge.port));
  for (const { socket } of clients) socket.pause();
  const unsent = (): number => edge.server.unsentAnswers.bytes;
  for (const [index, client] of clients.slice(0, 2).entries()) {
    client.send(request('bytes'));
    await eventually(() => unsent() === (index + 1) * length, { what: 'an answer waits' });
  }
  for (const client of clients.slice(2)) {
    client.send(request('bytes'));
    client.socket.resume();
    await client.ended('a client beyond the bound');
    t.true(client.received.length < length);
  }
  const [first, second] = clients;
  first?.socket.resume();
  await eventually(() => (first?.received.length ?? 0) > length, { what: 'the whole answer' });
  await eventually(() => unsent() === length, { what: 'the first is given back' });
  second?.socket.destroy();
  await eventually(() => unsent() === 0, { what: 'that of a client that leaves is given back' });
  await eventually(() => edge.server.runningRequests === 0);
});

/** Receives the answers to the requests, and reads them only once the server is closing. */
async function readWhileClosing(t: ExecutionContext, requests: readonly string[]): Promise<RawConnection> {
  const edge = await startLarge();
  t.teardown(edge.close);
  const connection = new RawConnection(t, edge.port);
  connection.socket.pause();
  connection.send(requests.map(request).join(''));
  await eventually(() => edge.reports.length === requests.length, { what: 'all are answered' });
  const closing = edge.server.close(AbortSignal.timeout(30_000));
  connection.socket.resume();
  await closing;
  await connection.ended('the closed server');
  return connection;
}

test('a server that closes waits until slow clients have taken their answers', async (t) => {
  const { received, statuses } = await readWhileClosing(t, [...Array(fillers).fill('filler'), 'usual']);
  t.is(statuses.length, fillers + 1);
  t.true(received.endsWith(JSON.stringify({ usual })));
});

test('a server that closes waits until slow clients have taken the ends of their streams', async (t) => {
  const { received } = await readWhileClosing(t, ['stream']);
  t.true(received.length > length / 2);
  t.true(received.endsWith(' and the end\r\n0\r\n\r\n'));
});
