// The operator's endpoints: tenants, users, usage, errors, and the refusal of whom the operator has stopped.
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { operatorToken as token, startTestNode } from '../support/servers/node.js';
import { sharedNode, tenantOf } from '../support/servers/shared-node.js';
import { register } from '../support/builders/tenants.js';
import { brokenText, openSocket } from '../support/clients/sockets.js';

const shared = sharedNode(test);
const base = '/api/v1/operator';

test('a repeated request with a key makes one tenant', async (t) => {
  const { client } = await shared.tenant(t);
  const create = (body: object, key = 'first-customer') =>
    client.call('POST', `${base}/tenants`, { token, body, headers: { 'idempotency-key': key } });
  const both = await Promise.all([create({ name: 'Once' }), create({ name: 'Once' })]);
  t.deepEqual(
    both.map(({ status }) => status),
    [201, 201],
  );
  t.is(both[0]?.json.data.id, both[1]?.json.data.id);
  t.deepEqual(both.map(({ headers }) => headers.get('idempotent-replayed') ?? '').toSorted(), ['', 'true']);
  const other = await create({ name: 'Once', plan: 'pro' });
  t.is(other.status, 409, 'the same key for another tenant');
  t.not((await create({ name: 'Once' }, 'second-customer')).json.data.id, both[0]?.json.data.id);
});

test('lists tenants with members and the month, by search, plan and status, in pages', async (t) => {
  const node = await shared.tenant(t);
  const { client, bootstrap } = node;
  const call = await client.call('POST', '/api/v3/llm/public/call', {
    headers: { 'x-api-key': bootstrap.api_key },
    body: { query: 'count me', model: 'sim.echo' },
  });
  t.is(call.status, 200);
  const found = await eventually(async () => {
    const answer = await client.call('GET', `${base}/tenants?search=${bootstrap.tenant_id}`, { token });
    return answer.json.data[0]?.month.calls === 1 ? answer.json.data[0] : undefined;
  });
  t.like(found, { id: bootstrap.tenant_id, status: 'active', members: 1, suspend_reason: null });
  t.is(found.month.tokens, call.json.usage.total_tokens);
  t.is(found.month.cost, 0);
  t.truthy(found.last_seen);
  const one = await client.call('GET', `${base}/tenants/${bootstrap.tenant_id}`, { token });
  t.is(one.json.data.id, bootstrap.tenant_id);

  await register(node);
  const first = await client.call('GET', `${base}/tenants?limit=1`, { token });
  t.is(first.json.count, 1);
  const second = await client.call('GET', `${base}/tenants?limit=1&cursor=${first.json.next_cursor}`, {
    token,
  });
  t.not(second.json.data[0].id, first.json.data[0].id);
  const free = await client.call('GET', `${base}/tenants?plan=free&limit=100`, { token });
  t.true(free.json.data.every((row: { plan: string }) => row.plan === 'free'));
  t.is((await client.call('GET', `${base}/tenants?search=no-such-tenant-name`, { token })).json.count, 0);
  const unknown = await client.call('GET', `${base}/tenants/00000000-0000-4000-8000-000000000000`, { token });
  t.is(unknown.json.error, 'tenant_not_found');
});

test('the operator creates a tenant, with or without an owner', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const create = (body: object) => client.call('POST', `${base}/tenants`, { token, body });
  const made = await create({ name: 'Made for them', plan: 'pro', owner: bootstrap.owner.email });
  t.is(made.status, 201, made.text);
  t.like(made.json.data, { name: 'Made for them', plan: 'pro', status: 'active', members: 1 });
  const theirs = await client.call('GET', '/api/tenants', { token: bootstrap.access_token });
  t.true(theirs.json.data.some(({ id }: { id: string }) => id === made.json.data.id));
  t.like((await create({ name: 'Nobody yet' })).json.data, { plan: 'free', members: 0 });
  const refused = await create({ name: 'Of nobody', owner: 'nobody@test.example' });
  t.is(refused.status, 400);
  t.is(refused.json.details.field, 'owner');
  t.is(
    (await client.call('POST', `${base}/tenants`, { token: bootstrap.access_token, body: { name: 'x' } }))
      .status,
    401,
  );
});

test('a suspended tenant is refused everywhere, its turns end, and it works again when resumed', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const { tenant_id: id, access_token: jwt, api_key: key, agent_id: agent } = bootstrap;
  const headers = { 'x-api-key': key };
  await client.call('PATCH', `/api/agents/${agent}`, {
    token: jwt,
    tenant: id,
    body: { llm_config: { model: 'sim.lorem-5000-50' } },
  });
  await client.call('POST', `/api/agents/${agent}/publish`, { token: jwt, tenant: id });
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  const stream = await fetch(`${client.baseUrl}/api/v2/agents/${agent}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ message: 'go on' }),
    signal: leaving.signal,
  });
  t.is(stream.status, 200);
  const trigger = await client.call('POST', '/api/triggers', {
    token: jwt,
    tenant: id,
    body: {
      agent_id: agent,
      name: 'in',
      trigger_type: 'webhook',
      trigger_config: { auth: { type: 'none' } },
    },
  });
  t.is(trigger.status, 201);
  const executions = async () =>
    (await client.call('GET', '/api/v1/executions', { headers })).json.data as { status: string }[];
  await eventually(async () => (await executions()).some(({ status }) => status === 'running'));

  const reason = 'unpaid';
  const suspended = await client.call('POST', `${base}/tenants/${id}/suspend`, { token, body: { reason } });
  t.like(suspended.json.data, { id, status: 'suspended', suspend_reason: reason });
  const byKey = await client.call('GET', '/api/quota', { headers });
  t.is(`${byKey.status} ${byKey.json.error}`, '403 tenant_suspended');
  const byUser = await client.call('GET', '/api/agents', { token: jwt, tenant: id });
  t.is(`${byUser.status} ${byUser.json.error}`, '403 tenant_suspended');
  const path = `/api/triggers/webhook/${trigger.json.data.id}`;
  const webhook = await client.call('POST', path, { body: { message: 'hello' } });
  t.is(`${webhook.status} ${webhook.json.error}`, '403 tenant_suspended');
  const list = await client.call('GET', `${base}/tenants?status=suspended&limit=100`, { token });
  t.true(list.json.data.some((row: { id: string }) => row.id === id));
  await t.throwsAsync(async () => {
    for await (const _ of stream.body ?? []) void _;
  });

  const resumed = await client.call('POST', `${base}/tenants/${id}/resume`, { token });
  t.like(resumed.json.data, { status: 'active', suspend_reason: null, suspended_at: null });
  await eventually(async () => {
    const [first] = await executions();
    return first?.status === 'cancelled';
  });
  t.is((await client.call('POST', `${base}/tenants/${id}/suspend`, { token, body: {} })).status, 400);
});

test('the open streams of a suspended tenant end with an error in their form', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const { tenant_id: id, access_token: jwt, api_key: key, agent_id: agent } = bootstrap;
  const body = { llm_config: { model: 'sim.lorem-5000-50' } };
  await client.call('PATCH', `/api/agents/${agent}`, { token: jwt, tenant: id, body });
  await client.call('POST', `/api/agents/${agent}/publish`, { token: jwt, tenant: id });
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  const open = async (path: string, given?: object): Promise<Response> => {
    const response = await fetch(`${client.baseUrl}${path}`, {
      method: given === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      signal: leaving.signal,
      ...(given === undefined ? {} : { body: JSON.stringify(given) }),
    });
    t.is(response.status, 200, path);
    return response;
  };
  const model = 'sim.lorem-5000-50';
  const messages = [{ role: 'user', content: 'go on' }];
  const streams = {
    turn: await open(`/api/v2/agents/${agent}/stream`, { message: 'go on' }),
    native: await open('/api/v3/llm/public/call', { query: 'go on', model, stream: true }),
    openai: await open('/v1/chat/completions', { model, messages, stream: true }),
    anthropic: await open('/v1/messages', { model, messages, max_tokens: 5_000, stream: true }),
    responses: await open('/v1/responses', { model, input: 'go on', stream: true }),
    realtime: await open('/api/v1/realtime/events'),
    list: await open('/api/v1/realtime/sessions'),
  };
  const socket = await openSocket(`${client.baseUrl}/api/v1/realtime`, { 'x-api-key': key });
  const texts = Promise.all(
    Object.entries(streams).map(async ([name, response]) => [name, await brokenText(response)] as const),
  );
  const reason = { reason: 'unpaid' };
  t.is((await client.call('POST', `${base}/tenants/${id}/suspend`, { token, body: reason })).status, 200);
  const last = Object.fromEntries(
    (await texts).map(([name, text]) => [name, text.trimEnd().split('\n\n').at(-1) ?? '']),
  );
  for (const name of ['turn', 'realtime', 'list']) {
    t.regex(
      last[name] ?? '',
      /^event: error\ndata: \{"type":"error","code":"tenant_suspended","message":"/,
      name,
    );
  }
  t.regex(last['native'] ?? '', /^data: \{"error":"tenant_suspended","message":".*","done":true\}$/);
  t.regex(last['openai'] ?? '', /^data: \{"error":\{.*"code":"tenant_suspended"/);
  t.regex(
    last['anthropic'] ?? '',
    /^event: error\ndata: \{"type":"error","error":\{"type":"permission_error"/,
  );
  t.regex(last['responses'] ?? '', /^event: (?:error|response\.failed)\ndata: .*tenant_suspended/);
  await eventually(() => socket.closedWith() !== undefined);
  t.is(socket.closedWith(), 4401);
  t.like(JSON.parse(socket.messages.at(-1) ?? '{}'), { type: 'error', code: 'tenant_suspended' });
});

test('the open stream of a disabled user ends with an error', async (t) => {
  const node = await shared.tenant(t);
  const { user, tenantId } = await register(node);
  const body = { email: user.email, password: user.password };
  const { access_token: jwt } = (await node.client.call('POST', '/api/auth/login', { body })).json.data;
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  const stream = await fetch(`${node.client.baseUrl}/api/v1/realtime/events`, {
    headers: { authorization: `Bearer ${jwt}`, 'x-tenant-id': tenantId },
    signal: leaving.signal,
  });
  t.is(stream.status, 200);
  const text = brokenText(stream);
  const search = `${base}/users?search=${encodeURIComponent(user.email)}`;
  const [row] = (await node.client.call('GET', search, { token })).json.data;
  t.is((await node.client.call('POST', `${base}/users/${row.id}/disable`, { token })).status, 200);
  t.regex(await text, /event: error\ndata: \{"type":"error","code":"authentication_required"/);
});

test('a disabled user is signed out everywhere until enabled', async (t) => {
  const node = await shared.tenant(t);
  const { client } = node;
  const { user, tenantId } = await register(node);
  const signIn = () =>
    client.call('POST', '/api/auth/login', { body: { email: user.email, password: user.password } });
  const { access_token: jwt, refresh_token: refresh } = (await signIn()).json.data;
  const found = await client.call('GET', `${base}/users?search=${encodeURIComponent(user.email)}`, { token });
  t.is(found.json.count, 1);
  const [row] = found.json.data;
  t.like(row, { email: user.email, status: 'active', tenants: [{ id: tenantId, role: 'owner' }] });

  const disabled = await client.call('POST', `${base}/users/${row.id}/disable`, { token });
  t.is(disabled.json.data.status, 'disabled');
  const refusals = [
    await client.call('GET', '/api/auth/me', { token: jwt }),
    await client.call('GET', '/api/agents', { token: jwt, tenant: tenantId }),
    await client.call('POST', '/api/auth/refresh', { body: { refresh_token: refresh } }),
  ].map(({ status, json }) => `${status} ${json.error}`);
  t.deepEqual([...new Set(refusals)], ['401 authentication_required']);
  t.is((await signIn()).json.error, 'invalid_credentials', 'as for an unknown account');

  t.is((await client.call('POST', `${base}/users/${row.id}/enable`, { token })).json.data.status, 'active');
  t.is((await signIn()).status, 200);
  const missing = await client.call('POST', `${base}/users/${tenantId}/disable`, { token });
  t.is(missing.json.error, 'not_found');
});

test('reports usage by tenant, model and day', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  await client.call('POST', '/api/v3/llm/public/call', {
    headers: { 'x-api-key': bootstrap.api_key },
    body: { query: 'one', model: 'sim.echo' },
  });
  const own = await eventually(async () => {
    const answer = await client.call('GET', `${base}/usage?group_by=tenant`, { token });
    return answer.json.data.groups.find(({ key }: { key: string }) => key === bootstrap.tenant_id);
  });
  t.is(own.calls, 1);
  for (const by of ['model', 'day']) {
    const { json } = await client.call('GET', `${base}/usage?group_by=${by}`, { token });
    const sum = json.data.groups.reduce((total: number, { calls }: { calls: number }) => total + calls, 0);
    t.is(sum, json.data.total.calls);
    t.is(json.count, json.data.groups.length);
  }
  t.is((await client.call('GET', `${base}/usage?group_by=key`, { token })).status, 400);
});

test('gives a tenant a new data key', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const { access_token: jwt, tenant_id: tenant } = bootstrap;
  const body = { name: 'kept', value: 'a value to keep', kind: 'generic' };
  const made = await client.call('POST', '/api/secrets', { token: jwt, tenant, body });
  t.is(made.status, 201);
  const rotated = await client.call('POST', `${base}/tenants/${tenant}/rotate-data-key`, { token });
  t.regex(rotated.json.message, /1 secrets were sealed again/);
});

test('all nodes tell the same errors, and the operator sees whose they are', async (t) => {
  // Of their own: two nodes over one database.
  // Nothing listens at the vendor's address: turns fail.
  const environment = { OPENAI_API_KEY: 'sk-none', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' };
  const one = await startTestNode(t, { environment });
  const other = await startTestNode(t, { databaseUrl: one.databaseUrl });
  const { api_key: key, tenant_id: tenant, agent_id: agent, access_token: jwt } = one.bootstrap;
  const headers = { 'x-api-key': key };
  const refused = await one.client.call('GET', '/api/v1/sessions/00000000-0000-4000-8000-000000000000', {
    headers,
  });
  t.is(refused.status, 404);
  await one.client.call('PATCH', `/api/agents/${agent}`, {
    token: jwt,
    tenant,
    body: { llm_config: { model: 'openai.gpt-5-mini' } },
  });
  await one.client.call('POST', `/api/agents/${agent}/publish`, { token: jwt, tenant });
  const turn = await fetch(`${one.client.baseUrl}/api/v2/agents/${agent}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ message: 'fail' }),
  });
  t.regex(await turn.text(), /FAILED/);
  const listed = async (node: typeof one) => (await node.client.call('GET', '/api/errors')).json;
  const alike = await eventually(async () => {
    const [here, there] = [await listed(one), await listed(other)];
    return JSON.stringify(here) === JSON.stringify(there) && here.count > 0 ? here : undefined;
  });
  t.deepEqual(Object.keys(alike.data[0]).toSorted(), ['error', 'id', 'message', 'timestamp']);
  const full = await other.client.call('GET', `${base}/errors`, { token });
  const row = full.json.data.find((error: { error: string }) => error.error === refused.json.error);
  t.like(row, { tenant, operation: 'sessions.get' });
  t.is(row.request_id, refused.headers.get('x-request-id'));
  t.truthy(row.node);
  const failed = full.json.data.find(({ operation }: { operation: string }) => operation === 'turns.run');
  t.like(failed, { tenant, request_id: null });
  t.truthy(failed.execution_id);
  t.true(alike.data.some(({ id }: { id: string }) => id === failed.id));

  const own = async (query: string, who: object = { token: jwt, tenant }) =>
    (await other.client.call('GET', `/api/v1/errors?${query}`, who)).json;
  const ids = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id);
  t.deepEqual(ids(await own(`agent_id=${agent}`)), [failed.id], 'those of an agent');
  t.deepEqual(ids(await own(`code=${failed.error}`)), [failed.id], 'those with a code');
  t.deepEqual(ids(await own(`request_id=${row.request_id}`)), [row.id], 'that of a request');
  t.deepEqual(ids(await own(`id=${row.id}`)), [row.id]);
  t.deepEqual(ids(await own('start_date=2999-01-01')), []);
  const first = await own('limit=1');
  t.deepEqual(ids(first), [failed.id], 'newest first');
  t.deepEqual(ids(await own(`limit=1&cursor=${first.next_cursor}`)), [row.id], 'page by page');
  t.false('tenant' in first.data[0]);
  const stranger = await tenantOf(one, 'another tenant');
  const them = { token: stranger.bootstrap.access_token, tenant: stranger.bootstrap.tenant_id };
  t.deepEqual(ids(await own('', them)), [], "no tenant sees another's errors");
});
