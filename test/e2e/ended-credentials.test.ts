import test, { type ExecutionContext } from 'ava';
import { startTestNode, type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { eventually } from '../support/clocks/eventually.js';
import { register } from '../support/builders/tenants.js';
import { RawConnection } from '../support/clients/raw-http.js';

const shared = sharedNode(test);

/** A stream that would last for minutes, with its content so far and whether it was aborted. */
async function openStream(
  t: ExecutionContext,
  node: TenantNode,
  path: string,
  headers: Record<string, string>,
) {
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  const response = await fetch(`${node.client.baseUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query: 'go on', model: 'sim.lorem-5000-50', stream: true }),
    signal: leaving.signal,
  });
  t.is(response.status, 200);
  const state = { text: '', ended: false, broken: false };
  const reader = response.body?.getReader();
  const read = async (): Promise<void> => {
    for (;;) {
      const piece = await reader?.read();
      if (piece === undefined || piece.done) break;
      state.text += Buffer.from(piece.value).toString();
    }
    state.ended = true;
  };
  void read().catch(() => (state.broken = true));
  await eventually(() => state.text.includes('chunk'));
  return state;
}

/** Whether the stream brings more; what was on its way when another ended is less than that. */
async function goesOn(stream: Awaited<ReturnType<typeof openStream>>): Promise<boolean> {
  const isOver = (): boolean => stream.broken || stream.ended;
  for (let times = 0; times < 3; times += 1) {
    const { length } = stream.text;
    await eventually(() => stream.text.length > length || isOver(), { what: 'more text' });
  }
  return !isOver();
}

test('revoking a key ends its open stream', async (t) => {
  const node = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const made = await node.client.call('POST', '/api/keys', { token, tenant, body: { name: 'short-lived' } });
  const other = await openStream(t, node, '/api/v3/llm/public/call', { 'x-api-key': node.bootstrap.api_key });
  const stream = await openStream(t, node, '/api/v3/llm/public/call', {
    'x-api-key': made.json.data.api_key,
  });
  t.is((await node.client.call('DELETE', `/api/keys/${made.json.data.id}`, { token, tenant })).status, 200);
  await eventually(() => stream.broken);
  t.true(await goesOn(other), 'a stream of another key goes on');
});

test("signing out ends the user's open stream", async (t) => {
  const node = await shared.tenant(t);
  const { user, tenantId } = await register(node);
  const signedIn = await node.client.call('POST', '/api/auth/login', {
    body: { email: user.email, password: user.password },
  });
  const { access_token: token, refresh_token: refresh } = signedIn.json.data;
  const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': tenantId };
  const stream = await openStream(t, node, '/api/v3/llm/call', headers);
  await node.client.call('POST', '/api/auth/logout', { body: { refresh_token: refresh } });
  await eventually(() => stream.broken);
  t.pass();
});

test('an expiring key ends its open stream', async (t) => {
  // Of its own: its clock is set forward.
  const node = await startTestNode(t);
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const body = { name: 'ends soon', expiresInDays: 60 / 86_400 };
  const made = await node.client.call('POST', '/api/keys', { token, tenant, body });
  const stream = await openStream(t, node, '/api/v3/llm/public/call', {
    'x-api-key': made.json.data.api_key,
  });
  const other = await openStream(t, node, '/api/v3/llm/public/call', { 'x-api-key': node.bootstrap.api_key });
  node.passMs(61_000);
  await eventually(() => stream.broken);
  t.true(await goesOn(other), 'a stream of another key goes on');
});

/** A request whose body's last bytes come once the callback has run, and its answer. */
async function inTwoParts(
  t: ExecutionContext,
  node: TenantNode,
  request: {
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: object;
  },
  meanwhile: () => Promise<void>,
): Promise<string> {
  const body = JSON.stringify(request.body);
  const given = { Host: 'x', 'Content-Type': 'application/json', ...request.headers };
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`);
  const connection = new RawConnection(t, Number(new URL(node.client.baseUrl).port)).send(
    `POST ${request.path} HTTP/1.1\r\n${lines.join('')}Content-Length: ${body.length}\r\n\r\n${body.slice(0, -3)}`,
  );
  await meanwhile();
  connection.send(body.slice(-3));
  await connection.answered(request.path);
  return connection.received;
}

test('an invitation whose last bytes come after the end of its key is not sent', async (t) => {
  const node = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const path = `/api/tenants/${tenant}/invites`;
  const invite = { email: 'somebody@example.com', role: 'admin' };
  for (const way of ['rest', 'mcp'] as const) {
    const made = await node.client.call('POST', '/api/keys', {
      token,
      tenant,
      body: { name: 'short-lived' },
    });
    const { api_key: key, id } = made.json.data;
    const acting = await node.client.call('POST', '/api/auth/token', { key });
    const call = { name: 'create_invite', arguments: invite };
    const request =
      way === 'rest'
        ? { path, headers: { Authorization: `Bearer ${acting.json.data.access_token}` }, body: invite }
        : {
            path: '/mcp',
            headers: { 'X-Api-Key': key, Accept: 'application/json, text/event-stream' },
            body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call },
          };
    const answer = await inTwoParts(t, node, request, async () => {
      // One use is the exchange for the token; the other, that this request has been authenticated.
      await eventually(
        async () =>
          (await node.client.call('GET', `/api/keys/${id}`, { token, tenant })).json.data.total_requests ===
          2,
        { what: 'the use of the key' },
      );
      t.is((await node.client.call('DELETE', `/api/keys/${id}`, { token, tenant })).status, 200);
    });
    t.regex(answer, /^HTTP\/1\.1 401 /, way);
    t.true(answer.includes(way === 'rest' ? '"invalid_token"' : '"invalid_api_key"'), answer);
    t.is((await node.client.call('GET', path, { token })).json.count, 0, way);
  }
});

test("restricting a key's addresses ends its open streams from the others", async (t) => {
  const node = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const made = await node.client.call('POST', '/api/keys', { token, tenant, body: { name: 'a key' } });
  const { api_key: key, id } = made.json.data;
  const from = (address: string) =>
    openStream(t, node, '/api/v3/llm/public/call', { 'x-api-key': key, 'x-forwarded-for': address });
  const [kept, other] = [await from('203.0.113.7'), await from('198.51.100.1')];
  const patch = (body: object) => node.client.call('PATCH', `/api/keys/${id}`, { token, tenant, body });
  t.is((await patch({ description: 'another' })).status, 200);
  t.is((await patch({ allowed_ips: ['203.0.113.0/24', '198.51.100.0/24'] })).status, 200);
  t.true(await goesOn(other), 'its address is allowed');
  t.is((await patch({ allowed_ips: ['203.0.113.0/24'] })).status, 200);
  await eventually(() => other.broken);
  t.true(other.text.includes('address_not_allowed'), other.text.slice(-500));
  t.true(await goesOn(kept), 'its address is allowed');
});
