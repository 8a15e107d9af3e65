import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { VendorPools } from '../../../src/llm/index.js';
import { eventually } from '../../support/clocks/eventually.js';
import { call, catalogue, credential } from '../../support/servers/vendors/call-harness.js';

/** Answers everything at once, and counts the connections that were made to it. */
async function listen(
  t: ExecutionContext,
): Promise<{ origin: string; connections: () => number; open: () => number }> {
  let connections = 0;
  const open = new Set<unknown>();
  // By default a server closes a connection that is idle for 5 s, as all are on a machine that stands still.
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    request.resume();
    request.on('end', () => response.end('{}'));
  });
  server.on('connection', (socket) => {
    connections += 1;
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, connections: () => connections, open: () => open.size };
}

function get(pools: VendorPools, origin: string, credentialId: string): Promise<void> {
  return new Promise((resolve, reject) => {
    pools.dispatch(
      origin,
      credentialId,
      { path: '/', method: 'POST', body: '{}' },
      {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: () => undefined,
        onResponseEnd: () => resolve(),
        onResponseError: reject,
      },
    );
  });
}

test('connections are reused, and never shared between credentials', async (t) => {
  const server = await listen(t);
  const pools = new VendorPools();
  t.teardown(() => pools.close());
  // A connection is free again a moment after its answer ended, so two of them take turns here.
  for (let round = 0; round < 20; round += 1) await get(pools, server.origin, 'a');
  const used = server.connections();
  t.true(used <= 2, `${used} connections for 20 requests`);
  await get(pools, server.origin, 'b');
  t.is(server.connections(), used + 1);
  t.is(pools.size, 2);
});

test('idle pools are closed, the least recently used first', async (t) => {
  const server = await listen(t);
  const pools = new VendorPools({ poolsMax: 2 });
  t.teardown(() => pools.close());
  await get(pools, server.origin, 'a');
  await get(pools, server.origin, 'b');
  await get(pools, server.origin, 'a');
  await get(pools, server.origin, 'c');
  t.is(pools.size, 2);
  const before = server.connections();
  await eventually(() => server.open() < before);
  await get(pools, server.origin, 'a');
  t.is(pools.size, 2);
  t.true(server.connections() <= before + 1);
});

test('a table of busy pools grows, and shrinks when they are idle', async (t) => {
  const server = await listen(t);
  const pools = new VendorPools({ poolsMax: 2 });
  t.teardown(() => pools.close());
  await Promise.all(['a', 'b', 'c', 'd'].map((credentialId) => get(pools, server.origin, credentialId)));
  t.is(pools.size, 4);
  for (const credentialId of ['e', 'f', 'g']) await get(pools, server.origin, credentialId);
  t.is(pools.size, 2);
});

test('closing ends all connections', async (t) => {
  const server = await listen(t);
  const pools = new VendorPools();
  await get(pools, server.origin, 'a');
  await pools.close();
  await eventually(() => server.open() === 0);
  t.is(pools.size, 0);
});

test('a call that the end of the pools cuts off asks its vendor no second time', async (t) => {
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    request.resume();
    if (asked > 1) response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const pools = new VendorPools();
  const model = catalogue.byId('openai.gpt-4.1');
  if (model === undefined) throw new Error('the model is built in');
  const only = { model, credential: credential('openai', `http://127.0.0.1:${port}/v1`) };
  const cut = call([only], { request: { stream: false }, ports: { pools } });
  await eventually(() => asked === 1);
  await pools.close();
  const { outcome, reports } = await cut;
  t.is(outcome.error?.failure, 'unavailable', outcome.error?.message);
  t.is(reports.length, 2);
  t.deepEqual([asked, pools.size], [1, 0]);
});
