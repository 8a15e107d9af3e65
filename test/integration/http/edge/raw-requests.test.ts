import test from 'ava';
import { z } from 'zod';
import { anyone, declare, eventStream } from '../../../../src/http/operations/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { startEdge } from '../../../support/servers/edge.js';
import { RawConnection } from '../../../support/clients/raw-http.js';

/** Requests over raw sockets, and the served ones: a smuggled one would appear here. */
async function served() {
  const seen: string[] = [];
  const operations = [
    declare({
      name: 'a.post',
      method: 'POST',
      path: '/post',
      title: 'Post',
      access: anyone(),
      body: z.looseObject({}),
      output: z.unknown(),
      handle: ({ body }) => {
        seen.push(`POST ${JSON.stringify(body)}`);
        return { ok: true };
      },
    }),
    declare({
      name: 'a.smuggled',
      method: 'GET',
      path: '/smuggled',
      title: 'Smuggled',
      access: anyone(),
      output: z.unknown(),
      handle: () => {
        seen.push('GET');
        return { ok: true };
      },
    }),
    declare({
      name: 'a.get',
      method: 'GET',
      path: '/get',
      title: 'Get',
      access: anyone(),
      output: z.unknown(),
      handle: () => ({ ok: true }),
    }),
    declare({
      name: 'a.large',
      method: 'GET',
      path: '/large',
      title: 'Large',
      access: anyone(),
      output: z.unknown(),
      handle: () => ({ text: 'x'.repeat(400_000) }),
    }),
    declare({
      name: 'a.delete',
      method: 'DELETE',
      path: '/delete',
      title: 'Delete',
      access: anyone(),
      output: z.unknown(),
      handle: () => ({ ok: true }),
    }),
    declare({
      name: 'a.start',
      method: 'POST',
      path: '/start',
      title: 'Start',
      access: anyone(),
      idempotency: { exempt: 'an operation of a test' },
      output: z.unknown(),
      handle: () => ({ ok: true }),
    }),
    declare({
      name: 'a.stream',
      method: 'GET',
      path: '/stream',
      title: 'Stream',
      access: anyone(),
      output: z.unknown(),
      contentType: 'text/event-stream',
      handle: () => eventStream(() => Promise.resolve('data: last\n\n')),
    }),
  ];
  const edge = await startEdge(operations, { corsOrigins: [page] });
  return { edge, seen };
}

const page = 'https://page.example';
const post = 'POST /post HTTP/1.1\r\nHost: a\r\n';
const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';

const refused: readonly (readonly [string, string])[] = [
  ['two Content-Length lines', `${post}Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}${smuggled}`],
  ['the same Content-Length twice', `${post}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
  ['an empty Content-Length before another', `${post}Content-Length: \r\nContent-Length: 2\r\n\r\n{}`],
  ['a list as Content-Length', `${post}Content-Length: 2, 2\r\n\r\n{}`],
  ['a signed Content-Length', `${post}Content-Length: +2\r\n\r\n{}`],
  ['a Content-Length of hexadecimal digits', `${post}Content-Length: 0x2\r\n\r\n{}`],
  ['a Content-Length beyond all numbers', `${post}Content-Length: 99999999999999999999\r\n\r\n{}`],
  [
    'Content-Length beside Transfer-Encoding',
    `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  [
    'an empty Content-Length beside Transfer-Encoding',
    `${post}Content-Length: \r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  ],
  ['an unknown transfer coding', `${post}Transfer-Encoding: gzip\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
  ['a transfer coding behind chunked', `${post}Transfer-Encoding: chunked, gzip\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
  [
    'two Transfer-Encoding lines',
    `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
  ],
  ['an empty Transfer-Encoding', `${post}Transfer-Encoding: \r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
  [
    'two lengths of a request that takes no body',
    `GET /smuggled HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\nContent-Length: 0\r\n\r\n${smuggled}`,
  ],
  ['no Host', 'POST /post HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}'],
  ['an empty Host', 'POST /post HTTP/1.1\r\nHost: \r\nContent-Length: 2\r\n\r\n{}'],
  ['two Host lines', `${post}Host: b\r\nContent-Length: 2\r\n\r\n{}`],
  ['a NUL in the address', 'POST /post\0 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'],
  ['another version', 'POST /post HTTP/1.0\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'],
  ['a line of an address that ends in LF alone', 'POST /post HTTP/1.1\nHost: a\nContent-Length: 2\n\n{}'],
  ['a request line of 5,000 letters', `GET /${'a'.repeat(5_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ['headers of 5,000 letters', `${post}X-A: ${'a'.repeat(5_000)}\r\nContent-Length: 2\r\n\r\n{}`],
  ['120 headers', `${post}${'a: b\r\n'.repeat(120)}Content-Length: 2\r\n\r\n{}`],
  ['what is no HTTP', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['an extension of a chunk', `${post}Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n\r\n${smuggled}`],
  // The native parser has no trailers: it reads the bytes after the last chunk as a request.
  ['a request in place of a trailer', `${post}Transfer-Encoding: chunked\r\n\r\n0\r\n${smuggled}`],
  ['a request behind a body in chunks', `${post}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`],
];

for (const [what, request] of refused) {
  test(`${what}: refused or cut off, and never served`, async (t) => {
    const { edge, seen } = await served();
    t.teardown(edge.close);
    const connection = new RawConnection(t, edge.port).send(request);
    await connection.ended(what);
    t.true(connection.statuses.length <= 1, connection.received);
    t.true((connection.statuses[0] ?? 400) >= 400, connection.received);
    t.false(seen.includes('GET'));
    if (!what.includes('chunk')) t.deepEqual(seen, []);
  });
}

/** Requests whose answer is ready at once, because nobody reads their bodies. */
const unread: readonly (readonly [string, string])[] = [
  ['GET', 'GET /get HTTP/1.1\r\nHost: a\r\n'],
  ['HEAD', 'HEAD /get HTTP/1.1\r\nHost: a\r\n'],
  ['GET of a large answer', 'GET /large HTTP/1.1\r\nHost: a\r\n'],
  ['GET of a stream', 'GET /stream HTTP/1.1\r\nHost: a\r\n'],
  ['DELETE', 'DELETE /delete HTTP/1.1\r\nHost: a\r\n'],
  ['POST without a body', 'POST /start HTTP/1.1\r\nHost: a\r\n'],
  ['an unknown path', 'POST /nowhere HTTP/1.1\r\nHost: a\r\n'],
  ['an unknown method', 'PUT /post HTTP/1.1\r\nHost: a\r\n'],
  [
    'a preflight',
    `OPTIONS /get HTTP/1.1\r\nHost: a\r\nOrigin: ${page}\r\nAccess-Control-Request-Method: GET\r\n`,
  ],
];
const chunked = 'Transfer-Encoding: chunked\r\n\r\n';
/** The native parser looks at none of the bytes between a chunk and the next one, nor behind a blank in a size. */
const lenient: readonly (readonly [string, string])[] = [
  ['a body in chunks', '2\r\n{}\r\n0\r\n\r\n'],
  ['an extension of a chunk', '2;a=b\r\n{}\r\n0\r\n\r\n'],
  ['a blank in a size', '2 anything\r\n{}\r\n0\r\n\r\n'],
  ['letters in place of a line end', '2\r\n{}XX0\r\n\r\n'],
  ['an empty body', '0\r\n\r\n'],
  ['an end without its last line', '0\r\n'],
];

for (const [what, head] of unread) {
  test(`chunked, ${what}: a request behind it is never served`, async (t) => {
    const { edge, seen } = await served();
    t.teardown(edge.close);
    const connections = lenient.map(([form, body]) => ({
      form,
      connection: new RawConnection(t, edge.port).send(head + chunked + body + smuggled),
    }));
    await Promise.all(connections.map(({ form, connection }) => connection.ended(form)));
    for (const { form, connection } of connections)
      t.true(connection.statuses.length <= 1, `${form}: ${connection.received.slice(0, 2_000)}`);
    t.deepEqual(seen, []);
  });
}

test('every chunked request is the last of its connection, also after its answer', async (t) => {
  t.timeout(90_000);
  const { edge, seen } = await served();
  t.teardown(edge.close);
  const ends: Readonly<Record<string, string>> = {
    HEAD: '\r\n\r\n',
    'GET of a large answer': 'x"}',
    'GET of a stream': '\r\n0\r\n\r\n',
    'a preflight': '\r\n\r\n',
  };
  await Promise.all(
    unread.map(async ([what, head]) => {
      const connection = new RawConnection(t, edge.port).send(`${head}${chunked}2\r\n{}\r\n0\r\n\r\n`);
      await eventually(() => connection.received.endsWith(ends[what] ?? '}'), {
        what: `the answer to ${what}`,
      });
      t.regex(connection.received, /\r\nconnection: close\r\n/i, what);
      connection.send(smuggled);
      await connection.ended(what);
      t.is(connection.statuses.length, 1, what);
    }),
  );
  t.deepEqual(seen, []);
});

/**
 * Of these the native parser hands nothing to the platform: it takes them for a head that is not whole yet, reads it
 * again with each further byte, and closes the connection after its idle time.
 */
const neverWhole: readonly (readonly [string, string])[] = [
  ['a folded line', `${post}X-A: a\r\n b\r\nContent-Length: 2\r\n\r\n{}`],
  ['a line folded with a tab', `${post}X-A: a\r\n\tb\r\nContent-Length: 2\r\n\r\n{}`],
  ['a fold before the first header', 'POST /post HTTP/1.1\r\n Host: a\r\nContent-Length: 2\r\n\r\n{}'],
  ['a bare CR in a value', `${post}X-A: a\rb\r\nContent-Length: 2\r\n\r\n{}`],
  ['a bare CR before a name', `${post}\rX-A: a\r\nContent-Length: 2\r\n\r\n{}`],
  ['a bare CR in the request line', 'POST /post\r HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'],
  ['a bare LF behind a value', `${post}X-A: a\nContent-Length: 2\r\n\r\n{}`],
  ['a NUL in a value', `${post}X-A: a\0b\r\nContent-Length: 2\r\n\r\n{}`],
  ['a NUL in a name', `${post}X\0A: a\r\nContent-Length: 2\r\n\r\n{}`],
  ['a vertical tab in a transfer coding', `${post}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`],
  ['a space before the colon', `${post}Content-Length : 2\r\n\r\n{}`],
  ['a chunk whose size is no number', `${post}Transfer-Encoding: chunked\r\n\r\ng\r\n{}\r\n0\r\n\r\n`],
];

test('an incomplete head of the native parser is never served, and its connection is closed', async (t) => {
  t.timeout(90_000);
  const { edge, seen } = await served();
  t.teardown(edge.close);
  const connections = neverWhole.map(([what, request]) => ({
    what,
    connection: new RawConnection(t, edge.port).send(request + smuggled),
  }));
  await Promise.all(connections.map(({ what, connection }) => connection.ended(what)));
  for (const { what, connection } of connections) t.false(connection.statuses.includes(200), what);
  t.deepEqual(seen, []);
});

test('a chunked body is read, and its connection closes with the answer', async (t) => {
  const { edge, seen } = await served();
  t.teardown(edge.close);
  const connection = new RawConnection(t, edge.port);
  connection.send(`${post}Transfer-Encoding: Chunked\r\n\r\n1\r\n{\r\n`);
  connection.send('8\r\n"a":"b"}\r\n0\r\n\r\n');
  await connection.ended('a body in chunks');
  t.deepEqual(connection.statuses, [200], connection.received);
  t.regex(connection.received, /\r\nconnection: close\r\n/i);
  t.deepEqual(seen, ['POST {"a":"b"}']);
});

test('a stream that begins while the server closes is the last answer of its connection', async (t) => {
  let release = (): void => undefined;
  const answering = (path: string, handle: () => unknown) =>
    declare({
      name: `a.${path}`,
      method: 'GET',
      path: `/${path}`,
      title: 'Get',
      access: anyone(),
      output: z.unknown(),
      handle,
    });
  const edge = await startEdge([
    answering('held', () => new Promise((resolve) => (release = () => resolve({ ok: true })))),
    answering('stream', () => eventStream(() => Promise.resolve('data: last\n\n'))),
  ]);
  t.teardown(edge.close);
  const [held, other] = [new RawConnection(t, edge.port), new RawConnection(t, edge.port)];
  const stream = 'GET /stream HTTP/1.1\r\nHost: a\r\n\r\n';
  other.send(stream);
  await eventually(() => other.received.endsWith('\r\n0\r\n\r\n'), { what: 'a stream before' });
  t.notRegex(other.received, /\r\nconnection: close\r\n/i);
  held.send('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
  await eventually(() => edge.server.runningRequests === 1, { what: 'a request that the server waits for' });
  const closing = edge.close();
  other.received = '';
  other.send(stream);
  await eventually(() => other.received.endsWith('\r\n0\r\n\r\n'), { what: 'a stream meanwhile' });
  t.regex(other.received, /\r\nconnection: close\r\n/i);
  release();
  await closing;
});

test('hostile headers are answered or refused, and the server survives', async (t) => {
  const { edge } = await served();
  t.teardown(edge.close);
  const hostile = [
    `X-Request-Id: ${'a'.repeat(300)}`,
    'X-Request-Id: a\u0001b',
    'Content-Length: -5',
    'Content-Length: 99999999999999999999',
    'Content-Type: ;;;;',
    `Authorization: Bearer ${'.'.repeat(2000)}`,
    'X-Tenant-Id: ../../etc/passwd',
    'Transfer-Encoding: gzip',
  ];
  // Bytes that are not HTTP get no answer; the native idle time ends the connection.
  const isOver = ({ statuses, closed }: RawConnection): boolean => statuses.length > 0 || closed;
  await Promise.all(
    hostile.map((header) => {
      const connection = new RawConnection(t, edge.port).send(
        `${post}${header}\r\nContent-Length: 13\r\n\r\n{"text":"hi"}`,
      );
      return eventually(() => isOver(connection), { what: header, timeoutMs: 60_000 });
    }),
  );
  const after = new RawConnection(t, edge.port).send(`${post}Content-Length: 2\r\n\r\n{}`);
  await after.answered('an honest request');
  t.deepEqual(after.statuses, [200]);
});
