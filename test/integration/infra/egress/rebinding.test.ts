import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { createEgress, type Egress, EgressError, systemLookup } from '../../../../src/infra/egress/index.js';
import { freePort } from '../../../support/servers/free-port.js';
import { startNameServer, type Zone } from '../../../support/servers/name-server.js';

/** 127.0.0.1 plays a public address here, 127.0.0.2 a private one: the same port on both. */
const [open, secret] = ['127.0.0.1', '127.0.0.2'];

interface World {
  readonly egress: Egress;
  readonly port: number;
  /** Requests that reached the private server. */
  readonly reached: string[];
  readonly asked: readonly string[];
}

async function world(t: ExecutionContext, zone: Zone): Promise<World> {
  const reached: string[] = [];
  const answer = (who: string) =>
    createServer((request, response) => {
      if (who === secret) reached.push(request.url ?? '');
      response.end(who);
    });
  const [outer, inner] = [answer(open), answer(secret)];
  const port = await listen(t, outer, open, 0);
  await listen(t, inner, secret, port);
  const names = await startNameServer(zone);
  const egress = createEgress({ allow: [`${open}/32`], lookup: systemLookup([names.address]) });
  t.teardown(async () => {
    await egress.close();
    await names.close();
  });
  return { egress, port, reached, asked: names.asked };
}

async function listen(t: ExecutionContext, server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const forbidden = { instanceOf: EgressError, message: /may not be reached|private|loopback/ };

test('a name that points to a forbidden address is refused on call and on publishing', async (t) => {
  const { egress, port, reached } = await world(t, new Map([['inner.test', [[secret]]]]));
  const url = `http://inner.test:${port}/`;
  t.notThrows(() => egress.checkUrl(url, 'url'));
  const error = await t.throwsAsync(egress.fetchGuarded({ url, timeoutMs: 60_000 }), forbidden);
  t.like(error, { failure: 'forbidden_target', retry: 'never', neverSent: true });
  await t.throwsAsync(egress.checkResolved(url, 'url'), { message: /^url: points to a host that may not/ });
  await t.throwsAsync(egress.connectGuarded('inner.test', port, { timeoutMs: 60_000 }), forbidden);
  await t.throwsAsync(egress.permittedAddresses('inner.test', port), forbidden);
  t.deepEqual(reached, []);
});

test('a name that changes its address after the check does not get the connection', async (t) => {
  // The first answer is checked and used; a second look-up would get the second.
  const zone: Zone = new Map([['rebind.test', [[open], [secret]]]]);
  const { egress, port, reached, asked } = await world(t, zone);
  const url = `http://rebind.test:${port}/`;
  const first = await egress.fetchGuarded({ url, timeoutMs: 60_000 });
  t.is(first.body.toString(), open);
  t.is(asked.filter((name) => name === 'rebind.test').length, 2, 'one question for each family');
  await egress.close();
  const later = createEgress({ allow: [`${open}/32`], lookup: () => Promise.resolve([secret]) });
  await t.throwsAsync(later.fetchGuarded({ url, timeoutMs: 60_000 }), forbidden);
  await later.close();
  t.deepEqual(reached, []);
});

test('each new connection checks the name again', async (t) => {
  const zone: Zone = new Map([['rebind.test', [[open], [secret]]]]);
  const { egress, port, reached } = await world(t, zone);
  const socket = await egress.connectGuarded('rebind.test', port, { timeoutMs: 60_000 });
  t.is(socket.remoteAddress, open);
  socket.destroy();
  await t.throwsAsync(egress.connectGuarded('rebind.test', port, { timeoutMs: 60_000 }), forbidden);
  await t.throwsAsync(
    egress.fetchGuarded({ url: `http://rebind.test:${port}/`, timeoutMs: 60_000 }),
    forbidden,
  );
  t.deepEqual(reached, []);
});

test('only the permitted addresses of a name are tried', async (t) => {
  const zone: Zone = new Map([['mixed.test', [[secret, open]]]]);
  const { egress, port, reached } = await world(t, zone);
  for (let round = 0; round < 5; round += 1) {
    const socket = await egress.connectGuarded('mixed.test', port, { timeoutMs: 60_000 });
    t.is(socket.remoteAddress, open);
    socket.destroy();
  }
  t.deepEqual(await egress.permittedAddresses('mixed.test', port), [open]);
  t.deepEqual(reached, []);
});

test('localhost is this machine without a DNS query', async (t) => {
  const { egress, port, asked } = await world(t, new Map());
  const answer = await egress.fetchGuarded({ url: `http://localhost:${port}/`, timeoutMs: 60_000 });
  t.is(answer.body.toString(), open);
  t.deepEqual(asked, []);
});

test('a name server that never answers delays only its own call', async (t) => {
  const { egress, port } = await world(t, new Map([['quick.test', [[open]]]]));
  const startedAt = performance.now();
  const slow = Array.from({ length: 20 }, (_, index) =>
    egress.fetchGuarded({ url: `http://silent${index}.test:${port}/`, timeoutMs: 2_000 }),
  );
  const ends = Promise.allSettled(slow);
  t.is(
    (await egress.fetchGuarded({ url: `http://quick.test:${port}/`, timeoutMs: 60_000 })).body.toString(),
    open,
  );
  for (const end of await ends) {
    t.true(
      end.status === 'rejected' && end.reason instanceof EgressError && end.reason.failure === 'timeout',
    );
  }
  // One after the other they would take 40 s.
  t.true(performance.now() - startedAt < 30_000);
});

test('waiting for a connection is bounded and can be cancelled', async (t) => {
  const never = createEgress({ allow: [], lookup: () => new Promise(() => undefined) });
  const late = never.connectGuarded('slow.test', 5432, { timeoutMs: 50 });
  t.like(await t.throwsAsync(late, { instanceOf: EgressError }), {
    failure: 'timeout',
    code: 'provider_timeout',
  });
  const controller = new AbortController();
  const aborted = never.connectGuarded('slow.test', 5432, { timeoutMs: 60_000, signal: controller.signal });
  controller.abort(new Error('no longer wanted'));
  t.like(await t.throwsAsync(aborted, { instanceOf: EgressError }), { failure: 'cancelled' });
});

test('a plain connection carries bytes, and a refused one reports it without naming the address', async (t) => {
  const echo = createTcpServer((socket) => socket.pipe(socket));
  // Nobody else gets it once this server is closed.
  const port = await freePort();
  echo.listen(port, open);
  await once(echo, 'listening');
  const egress = createEgress({ allow: [`${open}/32`], lookup: () => Promise.resolve([open]) });
  const socket = await egress.connectGuarded('echo.test', port, { timeoutMs: 60_000 });
  socket.write('hello');
  const [heard] = (await once(socket, 'data')) as [Buffer];
  t.is(heard.toString(), 'hello');
  socket.destroy();
  echo.close();
  await once(echo, 'close');
  const refused = await t.throwsAsync(egress.connectGuarded('echo.test', port, { timeoutMs: 60_000 }));
  t.is(refused?.message, 'The connection to echo.test failed (ECONNREFUSED).');
  t.like(refused, { failure: 'connection_failed', retry: 'later', neverSent: true });
});
