// A credential belongs to the address that it was given with, whatever that address answers.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConnectionError, createClient } from '@troupe/client';
import test from 'ava';

test('a redirect is not followed, so that no key goes to the address that it names', async (t) => {
  const seen: unknown[] = [];
  const elsewhere = createServer((request, response) => {
    seen.push(request.headers['x-api-key']);
    response.setHeader('content-type', 'application/json').end('{"data": []}');
  }).listen(0, '127.0.0.1');
  await once(elsewhere, 'listening');
  t.teardown(() => elsewhere.close());
  const { port } = elsewhere.address() as AddressInfo;
  for (const status of [301, 302, 303, 307, 308]) {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(status, { location: `http://127.0.0.1:${port}${request.url ?? ''}` }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => server.close());
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = createClient({ baseUrl, apiKey: 'svc_test_x', retries: 0 });
    await t.throwsAsync(client.sessions.list(), { instanceOf: ConnectionError }, `${status}`);
    await t.throwsAsync(client.agents.create({ body: { name: 'one' } }), { instanceOf: ConnectionError });
  }
  t.deepEqual(seen, []);
});
