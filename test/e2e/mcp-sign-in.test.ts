// How clients of MCP are admitted: by a browser's sign-in, by earlier revisions, within the windows of their key.
import test from 'ava';
import { mcpClient } from '../support/clients/mcp.js';
import { startTestNode, type TestNode } from '../support/servers/node.js';
import { type OidcIssuer, oidcAudience, startOidcIssuer } from '../support/servers/oidc-issuer.js';

const undo: (() => Promise<void>)[] = [];
let issuer: OidcIssuer;
let node: TestNode;

test.before(async () => {
  issuer = await startOidcIssuer();
  undo.push(() => issuer.close());
  node = await startTestNode(
    { teardown: (step) => void undo.push(step) },
    { environment: { TROUPE_OIDC_ISSUER: issuer.issuer, TROUPE_OIDC_AUDIENCE: oidcAudience } },
  );
});

test.after.always(async () => {
  for (const step of undo.toReversed()) await step();
});

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

test('a refusal leads a client to the issuer, whose token then lists the tools', async (t) => {
  const url = `${node.node.baseUrl}/mcp`;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
  const refused = await fetch(url, { method: 'POST', headers, body });
  t.is(refused.status, 401);
  const [, metadata = ''] =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
  const described: unknown = await (await fetch(metadata)).json();
  t.like(described, { resource: url, authorization_servers: [issuer.issuer] });

  const email = 'somebody@example.com';
  const account = { email, password: 'correct horse battery' };
  const { json } = await node.client.call('POST', '/api/auth/register', { body: account });
  const token = await issuer.token({ email, email_verified: true });
  const tenant: string = json.data.tenants[0].id;
  const bearer = { authorization: `Bearer ${token}`, 'x-tenant-id': tenant, 'x-api-key': '' };
  const client = await mcpClient(t, node.node.baseUrl, '', { headers: bearer });
  t.is((await client.listTools()).tools.length, 96);
});

for (const version of ['2025-06-18', '2025-11-25']) {
  test(`a client of revision ${version} agrees on it and calls a tool`, async (t) => {
    const post = async (message: object, more: Readonly<Record<string, string>> = {}) => {
      const response = await fetch(`${node.node.baseUrl}/mcp`, {
        method: 'POST',
        headers: { ...headers, 'x-api-key': node.bootstrap.api_key, ...more },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      });
      return { status: response.status, headers: response.headers, json: resultIn(await response.text()) };
    };
    const clientInfo = { name: 'an earlier client', version: '1' };
    const params = { protocolVersion: version, capabilities: {}, clientInfo };
    const begun = await post({ id: 1, method: 'initialize', params });
    t.like(begun.json, { result: { protocolVersion: version } });
    const agreed = {
      'mcp-protocol-version': version,
      'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
    };
    t.is((await post({ method: 'notifications/initialized' }, agreed)).status, 202);
    const called = await post(
      { id: 2, method: 'tools/call', params: { name: 'list_agents', arguments: { limit: 1 } } },
      agreed,
    );
    t.is(called.status, 200);
    t.like(called.json, { id: 2, result: { structuredContent: { success: true, count: 1 } } });
  });
}

/** The message of an answer, whole or as the last event of a stream. */
function resultIn(text: string): unknown {
  if (text === '' || text.startsWith('{')) return text === '' ? undefined : JSON.parse(text);
  return JSON.parse(
    text
      .split('\n')
      .findLast((line) => line.startsWith('data: '))
      ?.slice(6) ?? 'null',
  );
}

test('a revision that is not served is answered with the current one before it', async (t) => {
  const response = await fetch(`${node.node.baseUrl}/mcp`, {
    method: 'POST',
    headers: { ...headers, 'x-api-key': node.bootstrap.api_key },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '1999-01-01', capabilities: {}, clientInfo: { name: 'old', version: '1' } },
    }),
  });
  t.like(resultIn(await response.text()), { result: { protocolVersion: '2025-11-25' } });
});

test('calls of tools count in the window of their key, and a full window is told with its end', async (t) => {
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const body = { name: 'a narrow window', role: 'editor', rateLimitPerMinute: 5 };
  const { json } = await node.client.call('POST', '/api/keys', { token, tenant, body });
  const call = (key: string) =>
    fetch(`${node.node.baseUrl}/mcp`, {
      method: 'POST',
      headers: { ...headers, 'x-api-key': key },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'list_agents', arguments: {} },
      }),
    });
  const statuses: number[] = [];
  let last = await call(json.data.api_key);
  for (let count = 1; count <= 6 && last.status === 200; count += 1) {
    statuses.push(last.status);
    last = await call(json.data.api_key);
  }
  t.is(statuses.length, 5);
  t.is(last.status, 429);
  t.like(await last.json(), { error: 'rate_limit_exceeded', status: 'error' });
  t.true(Number(last.headers.get('retry-after')) >= 1);
  t.is((await call(node.bootstrap.api_key)).status, 200, 'another key has its own window');
});
