import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { createEgress } from '../../../../src/infra/egress/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { freePort } from '../../../support/servers/free-port.js';
import { fails, host, listen, say, serve } from '../../../support/servers/outbound.js';

const egress = createEgress({ allow: [`${host}/32`], lookup: () => Promise.resolve([host]) });
test.after.always(() => egress.close());

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

const timeoutMs = 60_000;

test('a request is sent as given and its answer returned whole', async (t) => {
  const url = await serve(t, (request, response) => {
    void bodyOf(request).then((body) => {
      response.writeHead(201, { 'content-type': 'application/json', 'x-many': ['a', 'b'] });
      response.end(
        JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }),
      );
    });
  });
  const answer = await egress.fetchGuarded({
    url: `${url}/a%20b?c=d#e`,
    method: 'PATCH',
    headers: { 'Content-Type': 'text/plain', Authorization: 'Bearer x' },
    body: 'grüße',
    timeoutMs,
  });
  t.like(answer, { status: 201, truncated: false, headers: { 'x-many': 'a, b' } });
  t.like(JSON.parse(answer.body.toString()), {
    method: 'PATCH',
    url: '/a%20b?c=d',
    body: 'grüße',
    headers: { authorization: 'Bearer x', 'content-type': 'text/plain', 'user-agent': 'Troupe' },
  });
});

test('redirects on the same host are followed as browsers do', async (t) => {
  const seen: string[] = [];
  const url = await serve(t, (request, response) => {
    void bodyOf(request).then((body) => {
      seen.push(`${request.method} ${request.url} ${body} ${request.headers['content-type'] ?? '-'}`);
      const status = Number(request.url?.slice(1));
      if (Number.isNaN(status)) return void response.end('arrived');
      response.writeHead(status, { location: '/end' }).end();
    });
  });
  const headers = { 'content-type': 'text/plain' };
  for (const status of [301, 302, 303, 307, 308]) {
    const request = { url: `${url}/${status}`, method: 'POST', body: 'b', headers, timeoutMs } as const;
    const answer = await egress.fetchGuarded(request);
    t.is(answer.body.toString(), 'arrived');
    t.is(answer.url, `${url}/end`);
  }
  t.deepEqual(
    seen.filter((line) => line.includes('/end')),
    ['GET /end  -', 'GET /end  -', 'GET /end  -', 'POST /end b text/plain', 'POST /end b text/plain'],
  );
  const unfollowed = await egress.fetchGuarded({ url: `${url}/302`, redirectsMax: 0, timeoutMs });
  t.is(unfollowed.status, 302);
});

test('a redirect to another host, port or protocol, or to a forbidden address, is not followed', async (t) => {
  let strangers = 0;
  const other = await serve(t, (_request, response) => {
    strangers += 1;
    response.end();
  });
  let location = '';
  const url = await serve(t, (_request, response) => void response.writeHead(307, { location }).end());
  for (location of [
    other,
    'http://127.0.0.2/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:169.254.169.254]/',
    'http://0x7f.1:1/',
    'https://127.0.0.1/',
    '//evil.test/',
    'http://evil.test@127.0.0.1:1/',
    url.replace('//', '//user:password@'),
    'file:///etc/passwd',
    'http://',
  ]) {
    const error = await fails(t, egress.fetchGuarded({ url, timeoutMs }), 'redirect_refused');
    t.is(error.retry, 'never');
  }
  t.is(strangers, 0);
});

test('an endless redirect is given up', async (t) => {
  let count = 0;
  const url = await serve(t, (_request, response) => {
    count += 1;
    response.writeHead(302, { location: `/${count}` }).end('on and on');
  });
  await fails(t, egress.fetchGuarded({ url, timeoutMs }), 'redirect_refused');
  t.is(count, 4);
});

test('an answer of 100 MB is not read to its end', async (t) => {
  let sent = 0;
  let closed = false;
  const endless = (_request: IncomingMessage, response: ServerResponse) => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const more = (): void => {
      while (sent < 100 * 1024 * 1024) {
        sent += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', more);
      }
      response.end();
    };
    response.on('close', () => (closed = true));
    more();
  };
  const url = await serve(t, endless);
  await fails(t, egress.fetchGuarded({ url, timeoutMs }), 'too_large');
  await eventually(() => closed, { what: 'the server sees the end' });
  t.true(sent < 50 * 1024 * 1024, `${sent} bytes were sent`);
  const cut = await egress.fetchGuarded({ url, bodyBytesMax: 100_000, oversize: 'cut', timeoutMs });
  t.deepEqual([cut.body.length, cut.truncated], [100_000, true]);
});

test('an answer of exactly the limit is whole, one byte more is not', async (t) => {
  const url = await serve(t, (_request, response) => void response.end('12345'));
  const whole = await egress.fetchGuarded({ url, bodyBytesMax: 5, timeoutMs });
  t.is(whole.body.toString(), '12345');
  await fails(t, egress.fetchGuarded({ url, bodyBytesMax: 4, timeoutMs }), 'too_large');
});

test('a small compressed answer that unpacks to 100 MB is refused, a normal one is unpacked', async (t) => {
  const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024));
  const bodies: Record<string, Buffer> = {
    '/bomb': bomb,
    '/fine': gzipSync('fine'),
    '/broken': Buffer.from('no gzip'),
  };
  const url = await serve(t, (request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(bodies[request.url ?? '']);
  });
  await fails(t, egress.fetchGuarded({ url: `${url}/bomb`, timeoutMs }), 'too_large');
  await fails(t, egress.fetchGuarded({ url: `${url}/broken`, timeoutMs }), 'bad_answer');
  const fine = await egress.fetchGuarded({ url: `${url}/fine`, timeoutMs });
  t.deepEqual([fine.body.toString(), fine.headers['content-encoding']], ['fine', undefined]);
});

test('an empty body is empty whatever encoding its headers name', async (t) => {
  const url = await serve(t, (request, response) => {
    const [, status, encoding] = request.url?.split('/') ?? [];
    response.writeHead(Number(status), { 'content-encoding': encoding });
    // Without a length: the body is chunked, and ends at once.
    response.flushHeaders();
    response.end();
  });
  for (const encoding of ['gzip', 'deflate', 'br']) {
    for (const [method, status] of [
      ['DELETE', 204],
      ['GET', 200],
      ['HEAD', 200],
      ['GET', 304],
    ] as const) {
      const answer = await egress.fetchGuarded({ url: `${url}/${status}/${encoding}`, method, timeoutMs });
      t.deepEqual([answer.status, answer.body.length], [status, 0]);
    }
  }
  const cut = await say(
    t,
    'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 9\r\n\r\n',
    (socket) => socket.end(),
  );
  await fails(t, egress.fetchGuarded({ url: cut, timeoutMs }), 'connection_failed');
});

test('a broken, endless or non-HTTP answer is a named failure', async (t) => {
  await fails(t, egress.fetchGuarded({ url: await say(t, 'SSH-2.0-x\r\n'), timeoutMs }), 'bad_answer');
  const short = await say(t, 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc', (socket) => socket.end());
  const broken = await fails(t, egress.fetchGuarded({ url: short, timeoutMs }), 'connection_failed');
  t.false(broken.neverSent);
  const headers = await say(t, `HTTP/1.1 200 OK\r\n${`x-a: ${'b'.repeat(1_000)}\r\n`.repeat(40)}\r\n`);
  await fails(t, egress.fetchGuarded({ url: headers, timeoutMs }), 'too_large');
  const closing = await say(t, '', (socket) => socket.destroy());
  await fails(t, egress.fetchGuarded({ url: closing, timeoutMs }), 'connection_failed');
});

test('a refused connection counts as never sent, and its message names no address', async (t) => {
  const port = await freePort();
  const error = await fails(
    t,
    egress.fetchGuarded({ url: `http://gone.test:${port}/`, timeoutMs }),
    'connection_failed',
  );
  t.is(error.message, 'The connection to gone.test failed (ECONNREFUSED).');
  t.like(error, { code: 'provider_error', retry: 'later', neverSent: true });
});

test('headers that could redirect the request are not sent', async (t) => {
  let requests = 0;
  const url = await serve(t, (_request, response) => {
    requests += 1;
    response.end();
  });
  for (const headers of [
    { Host: 'internal' },
    { a: 'x\r\nHost: internal' },
    { 'transfer-encoding': 'chunked' },
  ]) {
    await t.throwsAsync(egress.fetchGuarded({ url, headers, timeoutMs }), { message: /^headers\./ });
  }
  t.is(requests, 0);
});

const certificate = readFileSync('test/fixtures/tls/good.test.certificate.pem', 'utf8');
const key = readFileSync('test/fixtures/tls/good.test.key.pem', 'utf8');

test('a certificate must have a trusted issuer and the right name', async (t) => {
  const port = await listen(
    t,
    createTlsServer({ cert: certificate, key }, (_request, response) => void response.end('safe')),
  );
  const call = (name: string, by = egress) => by.fetchGuarded({ url: `https://${name}:${port}/`, timeoutMs });
  const unknown = await fails(t, call('good.test'), 'connection_failed');
  t.regex(unknown.message, /certificate of good\.test is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/);
  t.true(unknown.neverSent);
  const trusting = createEgress({
    allow: [`${host}/32`],
    lookup: () => Promise.resolve([host]),
    authorities: [certificate],
  });
  t.is((await call('good.test', trusting)).body.toString(), 'safe');
  const wrong = await fails(t, call('other.test', trusting), 'connection_failed');
  t.regex(wrong.message, /ERR_TLS_CERT_ALTNAME_INVALID/);
  await trusting.close();
});

test('a stream is passed on as it arrives, and leaving it early ends the connection', async (t) => {
  let closed = false;
  const url = await serve(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => response.write('data: x\n\n'), 5);
    response.on('close', () => {
      closed = true;
      clearInterval(timer);
    });
  });
  const answer = await egress.streamGuarded({ url, timeoutMs });
  const first = await answer.body.next();
  // Two pieces may arrive as one.
  t.regex(Buffer.from(first.value ?? []).toString(), /^(data: x\n\n)+$/);
  await answer.body.return();
  await eventually(() => closed, { what: 'the server sees the end' });
});

test('a stream that is left before its first byte was read ends the connection too', async (t) => {
  let open = 0;
  const url = await serve(t, (_request, response) => {
    open += 1;
    response.on('close', () => (open -= 1));
    response.writeHead(202);
    response.write('more follows, and never comes');
  });
  const answer = await egress.streamGuarded({ url, timeoutMs: 600_000 });
  t.is(open, 1);
  await answer.body.return();
  await eventually(() => open === 0);
  const fetched = await egress.fetchLike({ timeoutMs: 600_000 })(url);
  await fetched.body?.cancel();
  await eventually(() => open === 0);
});

test('packages that need a fetch get one that obeys the rules', async (t) => {
  const url = await serve(t, (request, response) => {
    void bodyOf(request).then((body) => {
      if (request.method === 'DELETE') return void response.writeHead(204).end();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ body, mine: request.headers['x-mine'] }));
    });
  });
  const fetch = egress.fetchLike({ timeoutMs });
  const response = await fetch(new URL(url), { method: 'post', body: 'hello', headers: { 'x-mine': '1' } });
  t.deepEqual([response.status, await response.json()], [200, { body: 'hello', mine: '1' }]);
  t.is((await fetch(url, { method: 'DELETE' })).status, 204);
  await fails(t, fetch('http://169.254.169.254/'), 'forbidden_target');
  await fails(t, fetch(url, { signal: AbortSignal.abort() }), 'cancelled');
  await t.throwsAsync(fetch(url, { method: 'CONNECT' }), { instanceOf: TypeError });
  const bounded = await egress.fetchLike({ timeoutMs, bodyBytesMax: 4 })(url);
  await fails(t, bounded.text(), 'too_large');
});

test('a status that is none of HTTP fails a fetch of a package, and its connection is closed', async (t) => {
  let closed = false;
  const url = await serve(t, (_request, response) => {
    response.on('close', () => (closed = true));
    response.writeHead(999).write('more follows, and never comes');
  });
  const error = await fails(t, egress.fetchLike({ timeoutMs: 600_000 })(url), 'bad_answer');
  t.is(error.message, '127.0.0.1 answers with the status 999, which is none of HTTP.');
  await eventually(() => closed, { what: 'the server sees the end' });
});
