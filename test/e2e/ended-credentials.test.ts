import test, { type ExecutionContext } from 'ava';
import { startTestNode, type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { eventually } from '../support/clocks/eventually.js';
import { register } from '../support/builders/tenants.js';

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
  t.false(other.broken || other.ended, 'a stream of another key goes on');
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
  t.false(other.broken || other.ended, 'a stream of another key goes on');
});
