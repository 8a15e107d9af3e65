// When an outbound call is given up, and what is known of it then.
import { once, setMaxListeners } from 'node:events';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { createEgress } from '../../../../src/infra/egress/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { fails, host, listen, say, serve } from '../../../support/servers/outbound.js';

const egress = createEgress({ allow: [`${host}/32`], lookup: () => Promise.resolve([host]) });
test.after.always(() => egress.close());

const timeoutMs = 60_000;

test('an answer that never starts, stalls or never ends is given up in time', async (t) => {
  const silent = await serve(t, () => undefined);
  const stuck = await serve(t, (_request, response) => void response.write('a'));
  const trickling = await serve(t, (_request, response) => {
    const timer = setInterval(() => response.write('x'), 5);
    response.on('close', () => clearInterval(timer));
  });
  const hints = await say(t, '', (socket) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'), 5);
    socket.on('close', () => clearInterval(timer));
  });
  const givenUp = [silent, stuck, trickling, hints].map(async (url) => {
    const error = await fails(t, egress.fetchGuarded({ url, timeoutMs: 1_500 }), 'timeout');
    t.like(error, { code: 'provider_timeout', retry: 'later', neverSent: false });
  });
  const startedAt = performance.now();
  const falling = [silent, stuck].map((url) =>
    fails(t, egress.fetchGuarded({ url, silenceMs: 200, timeoutMs: 60_000 }), 'timeout'),
  );
  await Promise.all(falling);
  t.true(performance.now() - startedAt < 30_000);
  await Promise.all(givenUp);
});

test('a request without a connection is given up in time, and counts as never sent', async (t) => {
  // It takes connections and never answers the greeting of TLS.
  const mute = await listen(
    t,
    createTcpServer((socket) => void socket.on('error', () => undefined)),
  );
  const never = createEgress({ allow: [`${host}/32`], lookup: () => new Promise<never>(() => undefined) });
  t.teardown(() => never.close());
  for (const [by, url] of [
    [egress, `https://good.test:${mute}/`],
    [never, 'http://slow.test/'],
  ] as const) {
    const startedAt = performance.now();
    const late = await fails(t, by.fetchGuarded({ url, timeoutMs: 300 }), 'timeout');
    const controller = new AbortController();
    const call = by.fetchGuarded({ url, signal: controller.signal, timeoutMs });
    setImmediate(() => controller.abort());
    const left = await fails(t, call, 'cancelled');
    t.deepEqual([late.neverSent, left.neverSent], [true, true]);
    // The connector's own limit is ten seconds.
    t.true(performance.now() - startedAt < 8_000);
  }
});

test.serial('an answer that came while the event loop stood still is taken', async (t) => {
  // Its own thread, so that it answers meanwhile.
  const server = new Worker(
    `const { parentPort } = require('node:worker_threads');
     const server = require('node:http').createServer((request, response) => {
       parentPort.postMessage('asked');
       setTimeout(() => response.end('in time'), 100);
     });
     server.listen(0, '${host}', () => parentPort.postMessage(server.address().port));`,
    { eval: true },
  );
  t.teardown(() => server.terminate());
  const [port] = (await once(server, 'message')) as [number];
  const asked = once(server, 'message');
  const call = egress.fetchGuarded({ url: `http://${host}:${port}/`, timeoutMs: 3_000 });
  await asked;
  // In the check phase: the timers run next, and the sockets are read after them.
  setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_500));
  t.is((await call).body.toString(), 'in time');
});

test('slow requests of one share leave the other shares their places at the origin', async (t) => {
  let held = 0;
  const url = await serve(t, (request, response) => {
    if (request.url === '/slow') held += 1;
    else response.end('quick');
  });
  const controller = new AbortController();
  const { signal } = controller;
  setMaxListeners(100, signal);
  const slow = Array.from({ length: 100 }, () =>
    fails(t, egress.fetchGuarded({ url: `${url}/slow`, share: 'a', signal, timeoutMs }), 'cancelled'),
  );
  await eventually(() => held === 32, { what: 'the share has all its places' });
  const other = await egress.fetchGuarded({ url, share: 'b', timeoutMs: 10_000 });
  t.is(other.body.toString(), 'quick');
  const late = await fails(t, egress.fetchGuarded({ url, share: 'a', timeoutMs: 100 }), 'timeout');
  t.true(late.neverSent);
  controller.abort();
  const left = await Promise.all(slow);
  t.is(left.filter(({ neverSent }) => neverSent).length, 68);
  const next = await egress.fetchGuarded({ url, share: 'a', timeoutMs: 10_000 });
  t.deepEqual([next.body.toString(), held], ['quick', 32]);
});

test('the caller can cancel at any moment, and the other side sees the connection close', async (t) => {
  let arrived = 0;
  let closed = 0;
  const url = await serve(t, (request, response) => {
    arrived += 1;
    response.on('close', () => (closed += 1));
    if (request.url === '/body') response.write('begun');
  });
  for (const [count, path] of ['/head', '/body'].entries()) {
    const controller = new AbortController();
    const call = egress.fetchGuarded({ url: url + path, signal: controller.signal, timeoutMs });
    const failing = fails(t, call, 'cancelled');
    await eventually(() => arrived === count + 1, { what: 'the server has the request' });
    controller.abort(new Error('the turn was cancelled'));
    t.is(((await failing).cause as Error).message, 'the turn was cancelled');
    await eventually(() => closed === count + 1, { what: 'the server sees the end' });
  }
  const gone = egress.fetchGuarded({ url, signal: AbortSignal.abort(), timeoutMs });
  await fails(t, gone, 'cancelled');
});

test('a request that may no longer begin once it is connected writes nothing', async (t) => {
  const heard: string[] = [];
  const connected: Socket[] = [];
  const server = createTcpServer((socket) => {
    connected.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => void heard.push(bytes.toString()));
  });
  const port = await listen(t, server);
  const asked: number[] = [];
  const call = egress.fetchGuarded({
    url: `http://${host}:${port}/`,
    method: 'POST',
    body: 'an effect',
    timeoutMs: 10_000,
    mayBegin: () => {
      asked.push(connected.length);
      return false;
    },
  });
  t.true((await fails(t, call, 'withdrawn')).neverSent);
  t.is(asked.length, 1);
  t.deepEqual(heard, []);
  const url = await serve(t, (_request, response) => void response.end('heard'));
  const other = await egress.fetchGuarded({ url, timeoutMs: 10_000, mayBegin: () => true });
  t.is(other.body.toString(), 'heard');
});
