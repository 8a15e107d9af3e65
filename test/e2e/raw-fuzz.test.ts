import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode } from '../support/servers/node.js';
import { RawConnection } from '../support/clients/raw-http.js';
import { anyText } from '../support/builders/any-text.js';

/** Each run is one connection with some requests; half of them wait for the native idle time. */
const connections = Number(process.env['TROUPE_FUZZ_RUNS'] ?? 25) * 16;
/** Opened at one time, since most of a run is waiting. */
const atOnce = 200;

const smugglingNames = ['Content-Length', 'Transfer-Encoding', 'Host', 'Connection', 'Expect', 'Upgrade'];
const names = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...smugglingNames) },
  fc.constantFrom('X-Api-Key', 'Authorization', 'X-Tenant-Id', 'Content-Type', 'X-Request-Id', 'Origin'),
  fc.constantFrom('X-Forwarded-For', 'Sec-WebSocket-Key', 'Last-Event-ID', '', ' Host', 'content-length '),
  anyText({ maxLength: 8 }),
);
const values = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('0', '2', '7', '1048577', '999999999999', '-1', '+2', '0x2', '2, 2'),
  },
  fc.constantFrom('chunked', 'Chunked', 'gzip, chunked', 'chunked, identity', 'identity', '\x0bchunked', ''),
  fc.constantFrom('a', 'keep-alive', 'close', 'websocket', '100-continue', 'a\r\n b', 'a\rb', 'a\nb', 'a\0b'),
  anyText({ maxLength: 30 }),
  fc.nat(6_000).map((length) => 'v'.repeat(length)),
);
const lines = fc
  .tuple(names, values, fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r', ''))
  .map(([name, value, end]) => `${name}: ${value}${end}`);
const targets = fc.oneof(
  fc.constantFrom(
    '/health/live',
    '/v1/chat/completions',
    '/api/v1/realtime',
    '/openapi.json',
    '*',
    '//',
    '/%00',
  ),
  anyText({ maxLength: 20 }).map((text) => `/${text}`),
  fc.nat(6_000).map((length) => `/${'p'.repeat(length)}`),
);
const bodies = fc.oneof(
  fc.constantFrom(
    '',
    '{}',
    '2\r\n{}\r\n0\r\n\r\n',
    '0\r\n\r\n',
    'g\r\n',
    'ffffffffffffffff\r\n',
    '2;a=b\r\n{}',
  ),
  fc.json(),
  anyText({ maxLength: 60 }),
  fc.nat(3_000).map((depth) => '['.repeat(depth)),
);
const requests = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'HEAD', 'OPTIONS', 'DELETE', 'get', 'P(T', 'CONNECT', ''),
    target: targets,
    version: fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', ''),
    host: fc.constantFrom('Host: a\r\n', 'Host: a\r\n', 'Host: a\r\n', ''),
    headers: fc.array(lines, { maxLength: 6 }),
    end: fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', ''),
    body: bodies,
  })
  .map(
    ({ method, target, version, host, headers, end, body }) =>
      `${method} ${target} ${version}\r\n${host}${headers.join('')}${end}${body}`,
  );
const conversations = fc.record({
  text: fc.array(requests, { minLength: 1, maxLength: 3 }).map((all) => all.join('')),
  /** Where the bytes are cut into pieces that are sent one by one. */
  cuts: fc.array(fc.nat(400), { maxLength: 6 }),
  leaves: fc.boolean(),
});

test('no bytes on a socket stop the HTTP port, make it fail or stay in memory', async (t) => {
  t.timeout(connections * 1_000 + 120_000);
  const { client, passMs } = await startTestNode(t);
  const url = client.baseUrl;
  const port = Number(new URL(url).port);
  const seed = Number(process.env['TROUPE_FUZZ_SEED'] ?? Date.now() % 2 ** 31);
  t.log(`seed ${seed}`);
  const all = fc.sample(conversations, { numRuns: connections, seed });
  for (let from = 0; from < all.length; from += atOnce) {
    await Promise.all(all.slice(from, from + atOnce).map(async (one) => converse(t, port, one)));
    const alive = await fetch(`${url}/health/live`);
    t.is(alive.status, 200);
    passMs(61_000);
  }
  const nothingHeld = async (): Promise<boolean> =>
    /^troupe_http_body_bytes 0$/m.test(await (await fetch(`${url}/metrics`)).text());
  await eventually(nothingHeld, { what: 'no bytes of bodies' });
});

async function converse(
  t: ExecutionContext,
  port: number,
  {
    text,
    cuts,
    leaves,
  }: { readonly text: string; readonly cuts: readonly number[]; readonly leaves: boolean },
): Promise<void> {
  const connection = new RawConnection(t, port);
  let at = 0;
  for (const cut of [...cuts, text.length]) {
    connection.send(text.slice(at, at + cut));
    at += cut;
    await new Promise(setImmediate);
  }
  if (leaves) connection.socket.end();
  await eventually(() => connection.closed || connection.statuses.length > 0, {
    what: `an end of ${JSON.stringify(text)} cut at ${cuts.join()}`,
    timeoutMs: 60_000,
  });
  if (connection.statuses.some((status) => status === 500)) t.fail(`500 for ${JSON.stringify(text)}`);
  connection.socket.destroy();
}
