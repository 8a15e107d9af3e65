// Public keys: everybody can read them, so each is bound to agents, to origins and to what one visitor owns.
import { randomUUID } from 'node:crypto';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import type { TenantNode } from '../support/servers/node.js';
import type { CallResult } from '../support/clients/client.js';
import { httpTool, publishAgent } from '../support/builders/published-agents.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);
const origin = 'https://shop.example';

/** A page with a public key of the tenant. */
async function pageOf({ client, bootstrap }: TenantNode, fields: object = {}) {
  const { access_token: token, tenant_id: tenant, agent_id: agent } = bootstrap;
  const body = { name: 'page', origins: [origin], agent_ids: [agent], ...fields };
  const made = await client.call('POST', '/api/keys', { token, tenant, body });
  if (made.status !== 201) throw new Error(made.text);
  const { api_key: key, id } = made.json.data as { api_key: string; id: string };
  const call = (
    method: string,
    path: string,
    { secret, from = origin, headers = {}, body: sent }: Asked = {},
  ): Promise<CallResult> =>
    client.call(method, `/api/v1/chat/${key}${path}`, {
      headers: { origin: from, ...(secret === undefined ? {} : { 'x-visitor-secret': secret }), ...headers },
      ...(sent === undefined ? {} : { body: sent }),
    });
  const visit = async (): Promise<string> => (await call('POST', '/visitors')).json.data.secret;
  /** To the end of the turn: a stream that broke off is continued, as a page does. */
  const say = async (secret: string, message: string, more: object = {}, headers = {}) => {
    const body = { message, ...more };
    const begun = await call('POST', `/agents/${agent}/stream`, { secret, headers, body });
    const execution = begun.headers.get('x-execution-id');
    if (execution === null || begun.text.includes('event: done')) return begun;
    return call('GET', `/executions/${execution}/stream`, { secret });
  };
  return { made, key, id, agent, call, visit, say };
}

interface Asked {
  readonly secret?: string;
  readonly from?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface Seen {
  readonly type: string;
  readonly [field: string]: unknown;
}

function eventsOf({ text }: CallResult): readonly Seen[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Seen);
}

function idsOf(result: CallResult): { session: string; execution: string } {
  const first = eventsOf(result)[0];
  if (first?.type !== 'metadata') throw new Error(`the turn did not begin: ${result.status} ${result.text}`);
  return { session: String(first['session_id']), execution: String(first['execution_id']) };
}

const codeOf = ({ status, json }: CallResult): string =>
  `${status} ${json?.error?.code ?? json?.error ?? ''}`;

test('a visitor chats, reads its conversation, and continues a turn that it has', async (t) => {
  const page = await pageOf(await shared.tenant(t));
  t.regex(page.key, /^pk_live_[0-9a-f]{40}$/);
  const { data } = page.made.json;
  t.like(data, { prefix: 'pk_live_', role: 'member', origins: [origin], agent_ids: [page.agent] });
  const visited = await page.call('POST', '/visitors');
  t.is(visited.status, 200, visited.text);
  t.deepEqual(
    visited.json.data.agents.map(({ id }: { id: string }) => id),
    [page.agent],
  );
  const secret: string = visited.json.data.secret;
  const headers = { 'idempotency-key': randomUUID() };
  const first = await page.say(secret, 'Where is my order?', {}, headers);
  t.is(first.status, 200, first.text);
  const { session, execution } = idsOf(first);
  t.is(eventsOf(first).find(({ type }) => type === 'response')?.['content'], 'echo: Where is my order?');
  t.is(eventsOf(first).at(-1)?.['outcome'], 'COMPLETED');
  const repeated = await page.say(secret, 'Where is my order?', {}, headers);
  t.is(idsOf(repeated).execution, execution, 'the same turn is followed');

  const second = await page.say(secret, 'And now?', { session_id: session });
  t.is(idsOf(second).session, session);
  const rest = await page.call('GET', `/executions/${execution}/stream`, { secret });
  t.is(eventsOf(rest).at(-1)?.['outcome'], 'COMPLETED');
  t.is((await page.call('POST', `/executions/${execution}/cancel`, { secret })).status, 200);
  const listed = await page.call('GET', `/sessions/${session}/messages?limit=3`, { secret });
  t.is(listed.json.control_mode, 'engaged');
  t.deepEqual(
    listed.json.data.map(({ from, content }: { from: string; content: string }) => `${from}: ${content}`),
    ['agent: echo: And now?', 'visitor: And now?', 'agent: echo: Where is my order?'],
  );
  const cursor = encodeURIComponent(listed.json.next_cursor);
  const older = await page.call('GET', `/sessions/${session}/messages?cursor=${cursor}`, { secret });
  t.is(older.json.data.length, 1);
  t.is(older.json.next_cursor, null);
});

test('a visitor sees no tool, no arguments, no cost and no thought', async (t) => {
  const tenant = await shared.tenant(t);
  const { client, bootstrap } = tenant;
  const schemas = [httpTool('look_up', 'http://127.0.0.1:9/')];
  const agent = await publishAgent(client, bootstrap, { model: 'sim.tools', schemas });
  const page = await pageOf(tenant, { agent_ids: [agent] });
  const secret = await page.visit();
  const body = { message: 'call look_up {"order": "4711"}' };
  const told = await page.call('POST', `/agents/${agent}/stream`, { secret, body });
  const types = new Set(eventsOf(told).map(({ type }) => type));
  t.true(types.has('done') && types.has('metadata'), told.text);
  for (const hidden of ['tool', 'phase', 'thinking', 'metrics']) t.false(types.has(hidden), hidden);
  t.deepEqual(Object.keys(eventsOf(told)[0] ?? {}).toSorted(), ['execution_id', 'session_id', 'type']);
});

test('another visitor of the page reads, continues, cancels and prolongs nothing', async (t) => {
  const page = await pageOf(await shared.tenant(t));
  const [owner, stranger] = [await page.visit(), await page.visit()];
  const { session, execution } = idsOf(await page.say(owner, 'My number is 4711'));
  const tries = [
    page.call('GET', `/sessions/${session}/messages`, { secret: stranger }),
    page.call('GET', `/executions/${execution}/stream`, { secret: stranger }),
    page.call('POST', `/executions/${execution}/cancel`, { secret: stranger }),
    page.say(stranger, 'What is my number?', { session_id: session }),
  ];
  for (const tried of await Promise.all(tries)) {
    t.is(codeOf(tried), '404 not_found');
    t.false(tried.text.includes('4711'));
  }
  for (const secret of ['', 'vis_short', `vis_${'x'.repeat(44)}`]) {
    const headers = { 'x-visitor-secret': secret };
    const tried = await page.call('GET', `/sessions/${session}/messages`, { headers });
    t.is(codeOf(tried), '401 authentication_required', secret);
  }
});

test('the conversations of a consumer, a member or a key are no visitor’s', async (t) => {
  const tenant = await shared.tenant(t);
  const page = await pageOf(tenant);
  const key = tenant.bootstrap.api_key;
  const body = { message: 'hello', consumer_key: 'ada' };
  const turn = await tenant.client.call('POST', `/api/v2/agents/${page.agent}/stream`, { key, body });
  const { session, execution } = idsOf(turn);
  const secret = await page.visit();
  const read = await page.call('GET', `/sessions/${session}/messages`, { secret });
  t.is(codeOf(read), '404 not_found');
  t.is(codeOf(await page.call('GET', `/executions/${execution}/stream`, { secret })), '404 not_found');
});

test('pages of other origins, and requests without one, are refused and get no CORS header', async (t) => {
  const page = await pageOf(await shared.tenant(t));
  const { client } = await shared.tenant(t);
  for (const from of ['https://evil.example', 'http://shop.example', 'https://shop.example:8443', 'null']) {
    const tried = await page.call('POST', '/visitors', { from });
    t.is(codeOf(tried), '403 origin_not_allowed', from);
    t.is(tried.headers.get('access-control-allow-origin'), null);
  }
  const without = await client.call('POST', `/api/v1/chat/${page.key}/visitors`);
  t.is(codeOf(without), '403 origin_not_allowed');
  const allowed = await page.call('POST', '/visitors');
  t.is(allowed.headers.get('access-control-allow-origin'), origin);
  t.is(allowed.headers.get('vary'), 'Origin');

  const preflight = (from: string, path: string): Promise<Response> =>
    fetch(client.baseUrl + path, {
      method: 'OPTIONS',
      headers: {
        origin: from,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-visitor-secret',
      },
    });
  const asked = await preflight(origin, `/api/v1/chat/${page.key}/visitors`);
  t.is(asked.status, 204);
  t.is(asked.headers.get('access-control-allow-origin'), origin);
  t.is(asked.headers.get('access-control-allow-headers'), 'content-type,x-visitor-secret');
  t.is(asked.headers.get('access-control-allow-methods'), 'POST');
  for (const [from, path] of [
    ['https://evil.example', `/api/v1/chat/${page.key}/visitors`],
    [origin, `/api/v1/chat/pk_live_${'0'.repeat(40)}/visitors`],
    [origin, '/api/keys'],
    [origin, `/api/v2/agents/${page.agent}/stream`],
  ] as const) {
    const refused = await preflight(from, path);
    t.true(refused.status >= 400, path);
    t.is(refused.headers.get('access-control-allow-origin'), null, path);
  }
});

test('a public key opens no other operation, whatever header carries it', async (t) => {
  const { client, node, bootstrap } = await shared.tenant(t);
  const page = await pageOf({ client, node, bootstrap } as TenantNode);
  const open: string[] = [];
  let tried = 0;
  for (const { name, method, path, access } of node.table.operations) {
    if (access.credentials.size === 0 || access.credentials.has('public-key') || access.anonymous) continue;
    const target = path.replaceAll(/:(\w+)/g, (_, parameter: string) =>
      access.tenant.from === 'path' && access.tenant.parameter === parameter
        ? bootstrap.tenant_id
        : page.agent,
    );
    for (const credential of [
      { 'x-api-key': page.key },
      { authorization: `Bearer ${page.key}`, 'x-tenant-id': bootstrap.tenant_id },
    ]) {
      tried += 1;
      // An address each: wrong keys are counted by address.
      const address = `10.9.${tried >> 8}.${tried & 255}`;
      const headers = { origin, via: '1.1 proxy', 'x-forwarded-for': address, ...credential };
      const answer = await fetch(client.baseUrl + target, {
        method,
        headers: { ...headers, 'content-type': 'application/json' },
        ...(method === 'GET' ? {} : { body: '{}' }),
      });
      await answer.body?.cancel();
      if (answer.status !== 401) open.push(`${name}: ${answer.status}`);
    }
  }
  t.deepEqual(open, []);
  t.true(tried > 200);
  const secretKey = bootstrap.api_key;
  const swapped = await client.call('POST', `/api/v1/chat/${secretKey}/visitors`, { headers: { origin } });
  t.is(codeOf(swapped), '401 invalid_api_key');
});

test('a public key names its agents; others, and drafts, are not there', async (t) => {
  const tenant = await shared.tenant(t);
  const { client, bootstrap } = tenant;
  const { access_token: token, tenant_id } = bootstrap;
  const other = await publishAgent(client, bootstrap, { model: 'sim.echo' });
  const draft = await client.call('POST', '/api/agents', {
    token,
    tenant: tenant_id,
    body: { name: 'draft', llm_config: { model: 'sim.echo' } },
  });
  const page = await pageOf(tenant, { agent_ids: [bootstrap.agent_id, draft.json.data.id] });
  const secret = await page.visit();
  for (const agent of [other, draft.json.data.id]) {
    const body = { message: 'hello' };
    const tried = await page.call('POST', `/agents/${agent}/stream`, { secret, body });
    t.is(codeOf(tried), '404 agent_not_found');
  }
  t.is((await page.call('POST', '/visitors')).json.data.agents.length, 1);
});

test('a visitor says nothing beside its words', async (t) => {
  const page = await pageOf(await shared.tenant(t));
  const secret = await page.visit();
  for (const more of [{ context: { vip: true } }, { consumer_key: 'ada' }, { options: { timeout_ms: 5 } }]) {
    t.is((await page.say(secret, 'hello', more)).status, 400, JSON.stringify(more));
  }
  t.is((await page.say(secret, 'x'.repeat(8_001))).status, 400);
});

test('each visitor has a limit of messages, which leaves room for the others', async (t) => {
  const page = await pageOf(await shared.tenant(t));
  const [loud, quiet] = [await page.visit(), await page.visit()];
  const statuses: number[] = [];
  for (let sent = 0; sent < 21; sent += 1) statuses.push((await page.say(loud, 'again')).status);
  t.deepEqual(statuses, [...Array.from({ length: 20 }, () => 200), 429]);
  t.is((await page.say(quiet, 'hello')).status, 200);
});

test('the limit of a key holds for all its visitors together', async (t) => {
  const page = await pageOf(await shared.tenant(t), { rateLimitPerMinute: 3 });
  const secret = await page.visit();
  t.is((await page.say(secret, 'one')).status, 200);
  t.is((await page.say(secret, 'two')).status, 200);
  const refused = await page.say(secret, 'three');
  t.is(codeOf(refused), '429 rate_limit_exceeded');
  t.is(refused.headers.get('access-control-allow-origin'), origin, 'the page can read why');
});

test('the answer of a person who took over reaches the visitor', async (t) => {
  const tenant = await shared.tenant(t);
  const page = await pageOf(tenant);
  const secret = await page.visit();
  const { session } = idsOf(await page.say(secret, 'hello'));
  const { client, bootstrap } = tenant;
  const asOwner = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const control = (verb: string, body: object) =>
    client.call('POST', `/api/v1/sessions/${session}/${verb}`, { ...asOwner, body });
  t.is((await control('handoff', { reason: 'I answer.' })).status, 200);
  t.is((await control('manual-message', { message: 'This is Ada.' })).status, 200);
  const listed = await page.call('GET', `/sessions/${session}/messages?limit=1`, { secret });
  t.is(listed.json.control_mode, 'manual_handoff');
  t.like(listed.json.data[0], { from: 'person', content: 'This is Ada.' });
});

test('origins and agents are required together, checked, and changed later', async (t) => {
  const tenant = await shared.tenant(t);
  const { client, bootstrap } = tenant;
  const { access_token: token, tenant_id, agent_id: agent } = bootstrap;
  const asOwner = { token, tenant: tenant_id };
  for (const fields of [
    { origins: [origin] },
    { agent_ids: [agent] },
    { origins: [], agent_ids: [agent] },
    { origins: ['*'], agent_ids: [agent] },
    { origins: [`${origin}/`], agent_ids: [agent] },
    { origins: ['javascript:alert(1)'], agent_ids: [agent] },
    { origins: [origin], agent_ids: ['all'] },
  ]) {
    const made = await client.call('POST', '/api/keys', { ...asOwner, body: { name: 'page', ...fields } });
    t.is(codeOf(made), '400 invalid_input', JSON.stringify(fields));
  }
  const page = await pageOf(tenant);
  const patch = (id: string, body: object) => client.call('PATCH', `/api/keys/${id}`, { ...asOwner, body });
  const moved = await patch(page.id, { origins: ['https://new.example'] });
  t.deepEqual(moved.json.data.origins, ['https://new.example']);
  t.deepEqual(moved.json.data.agent_ids, [agent]);
  t.is(codeOf(await page.call('POST', '/visitors')), '403 origin_not_allowed');
  t.is((await page.call('POST', '/visitors', { from: 'https://new.example' })).status, 200);

  const ordinary = await client.call('POST', '/api/keys', { ...asOwner, body: { name: 'secret' } });
  t.is(codeOf(await patch(ordinary.json.data.id, { origins: [origin] })), '400 invalid_input');
  const listed = await client.call('GET', '/api/keys', asOwner);
  const prefixes = listed.json.data.map(({ prefix }: { prefix: string }) => prefix);
  t.true(prefixes.includes('pk_live_') && prefixes.includes('svc_live_'));
});

test('a revoked public key ends the streams of its visitors, and admits nobody', async (t) => {
  const tenant = await shared.tenant(t);
  const { client, bootstrap } = tenant;
  const slow = await publishAgent(client, bootstrap, { model: 'sim.lorem-2000-50' });
  const page = await pageOf(tenant, { agent_ids: [slow] });
  const secret = await page.visit();
  const stream = page.call('POST', `/agents/${slow}/stream`, { secret, body: { message: 'go' } });
  const cut = t.throwsAsync(stream);
  const asOwner = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const isWorking = async (): Promise<boolean> =>
    (await client.call('GET', '/api/v1/executions?status=running', asOwner)).json.count > 0;
  // Looks count in the user's window.
  await eventually(isWorking, { everyMs: 100, what: 'a turn at work' });
  t.is((await client.call('DELETE', `/api/keys/${page.id}`, asOwner)).status, 200);
  await cut;
  t.is(codeOf(await page.call('POST', '/visitors')), '401 invalid_api_key');
});

test('the commands of the guide to chats of web pages work', async (t) => {
  const { node, bootstrap } = await shared.tenant(t);
  const text = readFileSync('docs/guides/embed-a-chat.md', 'utf8');
  const [create = '', chat = ''] = [...text.matchAll(/^ *```sh run\n([\s\S]*?)^ *```$/gm)].map(
    ([, script]) => script ?? '',
  );
  const run = async (script: string, more: Record<string, string>): Promise<string> => {
    const env = { PATH: process.env['PATH'], BASE_URL: node.baseUrl, AGENT_ID: bootstrap.agent_id, ...more };
    return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { env })).stdout;
  };
  const owner = { ACCESS_TOKEN: bootstrap.access_token, TENANT_ID: bootstrap.tenant_id };
  const made = JSON.parse(await run(create, owner));
  t.deepEqual(made.data.origins, [origin]);
  const told = await run(chat, { PUBLIC_KEY: made.data.api_key, ORIGIN: origin });
  t.true(told.includes('echo: Where is my order?'), told);
});
