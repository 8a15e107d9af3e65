import { connect } from 'node:net';
import test from 'ava';
import { z } from 'zod';
import { PlatformError } from '../../../../src/kernel/errors.js';
import {
  anyone,
  apiKey,
  declare,
  eventStream,
  type Operation,
} from '../../../../src/http/operations/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { keyCaller, startEdge } from '../../../support/servers/edge.js';

const echo = declare({
  name: 'echo.post',
  method: 'POST',
  path: '/echo/:id',
  title: 'Echo',
  access: anyone(),
  params: z.object({ id: z.uuid() }),
  body: z.object({ text: z.string().min(1), note: z.string().optional() }),
  bodyRules: { maxBytes: 1000 },
  output: z.object({ id: z.string(), text: z.string() }),
  status: 201,
  idempotency: { exempt: 'it keeps nothing' },
  handle: ({ params, body }) => ({ id: params.id, text: body.text }),
});

const id = '018f0000-0000-7000-8000-00000000000a';

async function post(url: string, body: string | Uint8Array, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });
  return { response, json: (await response.json()) as Record<string, unknown> };
}

function get(name: string, path: string, handle: () => Promise<{ ok: boolean }>): Operation {
  return declare({
    name,
    method: 'GET',
    path,
    title: name,
    access: anyone(),
    output: z.object({ ok: z.boolean() }),
    handle,
  });
}

test('a valid request is answered with the declared status and the standard headers', async (t) => {
  const edge = await startEdge([echo]);
  t.teardown(edge.close);
  const { response, json } = await post(`${edge.url}/echo/${id}`, '{"text":"hi"}', {
    'x-request-id': 'abc-1',
  });
  t.is(response.status, 201);
  t.deepEqual(json, { id, text: 'hi' });
  t.is(response.headers.get('x-request-id'), 'abc-1');
  t.is(response.headers.get('x-ratelimit-limit'), '10');
  t.is(response.headers.get('content-type'), 'application/json; charset=utf-8');
});

const bodies: readonly (readonly [string, string | Uint8Array, number, string])[] = [
  ['malformed JSON', '{"text":', 400, 'validation_error'],
  ['a missing field', '{}', 400, 'missing_required_field'],
  ['an empty body', '', 400, 'missing_required_field'],
  ['a wrong type', '{"text":5}', 400, 'validation_error'],
  ['a body that is no object', '[]', 400, 'validation_error'],
  ['broken UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), 400, 'validation_error'],
  ['a __proto__ field', '{"text":"a","__proto__":{"admin":true}}', 400, 'validation_error'],
  ['an escaped __proto__ field', '{"text":"a","\\u005f_proto__":{"admin":true}}', 400, 'validation_error'],
  ['a NUL character', '{"text":"a\\u0000b"}', 400, 'validation_error'],
  ['half a surrogate pair', '{"text":"a\\ud800b"}', 400, 'validation_error'],
  ['hostile nesting', `{"text":${'['.repeat(200)}${']'.repeat(200)}}`, 400, 'validation_error'],
  ['a body over the bound', `{"text":"${'x'.repeat(1000)}"}`, 413, 'payload_too_large'],
];

for (const [what, body, status, code] of bodies) {
  test(`${what} is refused with ${status} ${code}`, async (t) => {
    const edge = await startEdge([echo]);
    t.teardown(edge.close);
    const { response, json } = await post(`${edge.url}/echo/${id}`, body);
    t.is(response.status, status);
    t.is(json['error'], code);
    t.is(json['status'], 'error');
  });
}

test('a chunked body beyond the limit is refused before its end', async (t) => {
  const edge = await startEdge([echo]);
  t.teardown(edge.close);
  const socket = connect(edge.port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  let answer = '';
  socket.on('data', (data) => (answer += data.toString()));
  socket.write(`POST /echo/${id} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`);
  socket.write(`7d0\r\n${'x'.repeat(2000)}\r\n`);
  await eventually(() => answer.startsWith('HTTP/1.1 413'));
  t.pass();
});

test('a body far over the limit gets 413 also for a client that first sends everything', async (t) => {
  const edge = await startEdge([echo]);
  t.teardown(edge.close);
  const body = `{"text":"${'x'.repeat(6 * 1024 * 1024)}"}`;
  const { response, json } = await post(`${edge.url}/echo/${id}`, body);
  t.is(response.status, 413);
  t.is(json['error'], 'payload_too_large');
  t.not(response.headers.get('connection'), 'close');
});

test('a content type other than JSON gets 415, a malformed id or unknown path 404, a wrong method 405', async (t) => {
  const edge = await startEdge([echo]);
  t.teardown(edge.close);
  t.is(
    (await post(`${edge.url}/echo/${id}`, 'text=hi', { 'content-type': 'application/x-www-form-urlencoded' }))
      .response.status,
    415,
  );
  t.is((await post(`${edge.url}/echo/17`, '{"text":"hi"}')).response.status, 404);
  t.is((await post(`${edge.url}/nowhere`, '{}')).response.status, 404);
  const wrong = await fetch(`${edge.url}/echo/${id}`);
  t.is(wrong.status, 405);
  t.is(wrong.headers.get('allow'), 'POST');
});

test("a wrong method is refused in the dialect of the path's operations", async (t) => {
  const dressed = declare({
    name: 'a.b',
    method: 'GET',
    path: '/telemetry',
    title: 'Telemetry',
    access: anyone(),
    dialect: 'telemetry',
    output: z.object({}),
    handle: () => ({}),
  });
  const own = { ...dressed, name: 'a.c', path: '/v1/messages', dialect: 'anthropic' } as const;
  const edge = await startEdge([dressed, own]);
  t.teardown(edge.close);
  const refused = await post(`${edge.url}/telemetry`, '{}');
  t.is(refused.response.status, 405);
  t.is(refused.response.headers.get('allow'), 'GET, HEAD');
  t.deepEqual(refused.json, {
    error: { code: 'METHOD_NOT_ALLOWED', message: 'This address takes GET, HEAD, not POST.' },
  });
  t.like((await post(`${edge.url}/v1/messages`, '{}')).json, {
    type: 'error',
    error: { type: 'invalid_request_error', code: 'method_not_allowed' },
  });
});

test('HEAD is served as GET without a body', async (t) => {
  const edge = await startEdge([get('a.b', '/thing', async () => ({ ok: true }))]);
  t.teardown(edge.close);
  const response = await fetch(`${edge.url}/thing`, { method: 'HEAD' });
  t.is(response.status, 200);
  t.is(response.headers.get('content-length'), '11');
  t.is(await response.text(), '');
});

const withoutBody: readonly (readonly [string, string, RegExp])[] = [
  ['HEAD', 'HEAD /thing HTTP/1.1\r\nHost: troupe\r\n\r\n', /\r\ncontent-length: 11\r\n/gi],
  [
    'a preflight',
    'OPTIONS /thing HTTP/1.1\r\nHost: troupe\r\nOrigin: https://app.example\r\n' +
      'Access-Control-Request-Method: GET\r\n\r\n',
    /^HTTP\/1\.1 204 (?![^]*content-length)/gi,
  ],
];
for (const [name, request, expected] of withoutBody) {
  test(`the connection continues after the answer to ${name}`, async (t) => {
    const edge = await startEdge([get('a.b', '/thing', async () => ({ ok: true }))], {
      corsOrigins: ['https://app.example'],
    });
    t.teardown(edge.close);
    const socket = connect(edge.port, '127.0.0.1');
    t.teardown(() => void socket.destroy());
    let received = '';
    let closed = false;
    socket.on('data', (data) => (received += String(data)));
    socket.on('close', () => (closed = true));
    socket.write(request);
    await eventually(() => received.endsWith('\r\n\r\n'), { what: 'the answer without a body' });
    t.is(received.match(expected)?.length, 1, received);
    t.is(received.match(/content-length/gi)?.length ?? 0, name === 'HEAD' ? 1 : 0);
    socket.write('GET /thing HTTP/1.1\r\nHost: troupe\r\n\r\n');
    await eventually(() => closed || received.endsWith('{"ok":true}'), { what: 'the next answer' });
    t.false(closed);
  });
}

test('an unforeseen failure is 500 and reveals nothing', async (t) => {
  const edge = await startEdge([
    get('a.b', '/thing', async () => Promise.reject(new Error('db password is hunter2'))),
  ]);
  t.teardown(edge.close);
  const response = await fetch(`${edge.url}/thing`);
  t.is(response.status, 500);
  const text = await response.text();
  t.false(text.includes('hunter2'));
  t.is((JSON.parse(text) as { error: string }).error, 'internal_error');
  t.true(String(edge.reports[0]?.failure).includes('hunter2'));
});

test('a role without the permission is refused before the handler runs', async (t) => {
  let ran = false;
  const operation = declare({
    name: 'a.b',
    method: 'GET',
    path: '/thing',
    title: 'Thing',
    access: apiKey('secrets:read'),
    output: z.object({}),
    handle: () => {
      ran = true;
      return {};
    },
  });
  const edge = await startEdge([operation], { caller: keyCaller('editor') });
  t.teardown(edge.close);
  const response = await fetch(`${edge.url}/thing`);
  t.is(response.status, 403);
  t.is(((await response.json()) as { error: string }).error, 'insufficient_permissions');
  t.false(ran);
});

test('the forwarded address counts only behind a trusted proxy', async (t) => {
  const addresses: string[] = [];
  const operation = declare({
    name: 'a.b',
    method: 'GET',
    path: '/thing',
    title: 'Thing',
    access: anyone(),
    output: z.object({}),
    handle: ({ caller }) => {
      addresses.push(caller.address);
      return {};
    },
  });
  const headers = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7, 127.0.0.1' };
  for (const trustedProxies of [[], ['127.0.0.0/8']]) {
    const edge = await startEdge([operation], { trustedProxies });
    t.teardown(edge.close);
    await fetch(`${edge.url}/thing`, { headers });
  }
  t.deepEqual(addresses, ['127.0.0.1', '198.51.100.7']);
});

test('a streamed answer waits for a slow reader and ends when the reader leaves', async (t) => {
  let written = 0;
  let over = false;
  const operation = declare({
    name: 'a.b',
    method: 'GET',
    path: '/stream',
    title: 'Stream',
    access: anyone(),
    output: z.string(),
    handle: () =>
      eventStream(async (writer) => {
        while (!writer.gone.aborted) {
          written += 1;
          if (!writer.write(`data: ${'x'.repeat(65_000)}\n\n`)) await writer.drained();
        }
        over = true;
      }),
  });
  const edge = await startEdge([operation]);
  t.teardown(edge.close);
  const socket = connect(edge.port, '127.0.0.1');
  socket.write('GET /stream HTTP/1.1\r\nhost: x\r\n\r\n');
  let seen = 0;
  socket.on('data', (data) => {
    seen += data.length;
    socket.pause();
  });
  await eventually(() => seen > 0 && written > 2);
  const before = written;
  t.true(before < 1_000, 'a writer without a reader must come to a halt');
  socket.destroy();
  await eventually(() => over);
});

test('closing lets a running request finish and accepts no new connection', async (t) => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const edge = await startEdge([
    get('a.b', '/slow', async () => {
      await held;
      return { ok: true };
    }),
  ]);
  const running = fetch(`${edge.url}/slow`);
  await eventually(() => edge.server.runningRequests === 1);
  // Long bounds: a machine that pauses must not cut off a request that should finish.
  const closed = edge.server.close(AbortSignal.timeout(60_000));
  await t.throwsAsync(fetch(`${edge.url}/slow`));
  release();
  const response = await running;
  t.is(response.status, 200);
  t.is(response.headers.get('connection'), 'close');
  await closed;
});

test('a second server on the same port fails instead of sharing it', async (t) => {
  const edge = await startEdge([echo]);
  t.teardown(edge.close);
  await t.throwsAsync(startEdge([echo], { port: edge.port }), { message: /the port is in use/ });
});

test('a refusal carries its headers and details', async (t) => {
  const refusal = new PlatformError('rate_limit_exceeded', { retryAfterSeconds: 7, details: { limit: 1 } });
  const edge = await startEdge([get('a.b', '/thing', () => Promise.reject(refusal))]);
  t.teardown(edge.close);
  const response = await fetch(`${edge.url}/thing`);
  t.is(response.status, 429);
  t.is(response.headers.get('retry-after'), '7');
  t.is(response.headers.get('x-should-retry'), null, 'a client may wait this long');
  t.deepEqual(((await response.json()) as { details: object }).details, { limit: 1 });
});

test('clients are told not to repeat what is refused for longer than a minute', async (t) => {
  const refusal = (retryAfterSeconds: number) => () =>
    Promise.reject(new PlatformError('quota_exceeded', { retryAfterSeconds }));
  const edge = await startEdge([get('a.b', '/minute', refusal(60)), get('a.c', '/longer', refusal(61))]);
  t.teardown(edge.close);
  const told = async (path: string) => (await fetch(`${edge.url}${path}`)).headers.get('x-should-retry');
  t.deepEqual([await told('/minute'), await told('/longer')], [null, 'false']);
});

test('a late event loop refuses new work with 503 and Retry-After, but still reports the process alive', async (t) => {
  const live = declare({
    name: 'health.live',
    method: 'GET',
    path: '/live',
    title: 'Live',
    access: anyone(),
    rate: 'uncounted',
    output: z.object({}),
    handle: () => ({}),
  });
  const edge = await startEdge([get('a.b', '/thing', async () => ({ ok: true })), live], { lagMsMax: 500 });
  t.teardown(edge.close);
  // Repeatedly, because samples of a punctual loop would end the state before a slow machine has asked.
  // All five samples that are evaluated, because on a busy machine a real one comes between each two of these.
  const late = setInterval(() => {
    for (let sample = 0; sample < 5; sample += 1) edge.server.overload.record(10_000);
  }, 5);
  t.teardown(() => clearInterval(late));
  await eventually(() => edge.server.overload.shedding, { what: 'shedding' });
  const [refused, alive] = await Promise.all([fetch(`${edge.url}/thing`), fetch(`${edge.url}/live`)]);
  clearInterval(late);
  t.is(refused.status, 503);
  t.is(refused.headers.get('retry-after'), '1');
  t.is(((await refused.json()) as { error: string }).error, 'service_unavailable');
  t.is(alive.status, 200);
  await eventually(async () => (await fetch(`${edge.url}/thing`)).status === 200);
});
