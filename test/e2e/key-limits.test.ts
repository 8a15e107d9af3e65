// What a key may ask for and from where, at every door.
import test from 'ava';
import { publishAgent } from '../support/builders/published-agents.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test('a key may ask only for its models, at every door', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant, agent_id: echo } = bootstrap;
  const body = { name: 'narrow', role: 'admin', allowed_models: ['sim.lorem-*'] };
  const made = await client.call('POST', '/api/keys', { token, tenant, body });
  t.is(made.status, 201, made.text);
  t.deepEqual(made.json.data.allowed_models, ['sim.lorem-*']);
  const key: string = made.json.data.api_key;
  const id: string = made.json.data.id;
  const asked = async (path: string, given: object): Promise<unknown[]> => {
    const answer = await client.call('POST', path, { key, body: given });
    const { json } = answer;
    return [answer.status, json.error?.code ?? json.error?.type ?? json.error];
  };
  const messages = [{ role: 'user', content: 'hello' }];
  const doors: readonly [string, object][] = [
    ['/api/v3/llm/public/call', { model: 'sim.echo', query: 'hello' }],
    ['/v1/chat/completions', { model: 'sim.echo', messages }],
    ['/v1/messages', { model: 'sim.echo', messages, max_tokens: 10 }],
    [`/api/v2/agents/${echo}/stream`, { message: 'hello', metadata: { trace_id: 'one' } }],
  ];
  for (const [path, given] of doors) {
    const [status, code] = await asked(path, given);
    t.is(status, 403, path);
    if (path !== '/v1/messages') t.is(code, 'invalid_model_for_key', path);
  }
  t.deepEqual(await asked('/api/v3/llm/public/call', { model: 'sim.lorem-50', query: 'hello' }), [
    200,
    undefined,
  ]);
  const auto = await client.call('POST', '/api/v3/llm/public/call', {
    key,
    body: { model: 'auto', query: 'hi' },
  });
  t.regex(String(auto.json.model), /^sim\.lorem-/, auto.text);
  const lorem = await publishAgent(
    client,
    { access_token: token, tenant_id: tenant },
    { model: 'sim.lorem-50' },
  );
  const turn = { message: 'hello', metadata: { trace_id: 'two' } };
  t.is((await client.call('POST', `/api/v2/agents/${lorem}/stream`, { key, body: turn })).status, 200);

  const patched = await client.call('PATCH', `/api/keys/${id}`, {
    token,
    tenant,
    body: { allowed_models: null },
  });
  t.is(patched.status, 200, patched.text);
  t.false('allowed_models' in patched.json.data);
  t.deepEqual(await asked('/api/v3/llm/public/call', { model: 'sim.echo', query: 'hello' }), [
    200,
    undefined,
  ]);
});

test('a key works only from its addresses, at every door, and the owner sees its limits', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant, agent_id: agent } = bootstrap;
  const create = (fields: object) =>
    client.call('POST', '/api/keys', { token, tenant, body: { name: 'k', ...fields } });
  const allowed = ['203.0.113.0/24', '2001:db8::/32'];
  const made = await create({ allowed_ips: allowed, budget: { usd: 5, period: 'day' } });
  t.is(made.status, 201, made.text);
  const key: string = made.json.data.api_key;
  const path = `/api/keys/${made.json.data.id}`;
  const question = { model: 'sim.echo', query: 'hello' };
  const from = (address: string) =>
    client.call('POST', '/api/v3/llm/public/call', {
      key,
      body: question,
      headers: { 'x-forwarded-for': address },
    });
  t.is((await from('203.0.113.7')).status, 200);
  t.is((await from('2001:db8::5')).status, 200);
  for (const [method, door, body] of [
    ['POST', '/api/v3/llm/public/call', question],
    ['POST', `/api/v2/agents/${agent}/stream`, { message: 'x', metadata: { trace_id: 't' } }],
    ['POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }],
    ['GET', '/api/v3/llm/models', undefined],
    ['GET', '/v1/models', undefined],
  ] as const) {
    const answer = await client.call(method, door, { key, ...(body !== undefined && { body }) });
    t.is(answer.status, 403, `${door} ${answer.text}`);
    t.true(answer.text.includes('address_not_allowed'), door);
  }
  const seen = await client.call('GET', path, { token, tenant });
  t.deepEqual(seen.json.data.allowed_ips, allowed);
  t.deepEqual(seen.json.data.budget, { usd: 5, period: 'day' });
  const change = await client.call('PATCH', path, {
    token,
    tenant,
    body: { allowed_ips: null, description: 'open' },
  });
  t.is(change.status, 200, change.text);
  t.is(change.json.data.description, 'open');
  t.deepEqual(change.json.data.budget, { usd: 5, period: 'day' }, 'a missing field stays');
  t.is((await from('198.51.100.1')).status, 200);

  for (const wrong of [
    { allowed_ips: ['everywhere'] },
    { allowed_ips: ['10.0.0.0/33'] },
    { allowed_models: ['a*b'] },
    { budget: { usd: -1, period: 'day' } },
    { budget: { usd: 1, period: 'year' } },
  ]) {
    t.is((await create(wrong)).status, 400, JSON.stringify(wrong));
    t.is(
      (await client.call('PATCH', path, { token, tenant, body: wrong })).status,
      400,
      JSON.stringify(wrong),
    );
  }
  const stranger = (await shared.tenant({ title: 'another tenant' })).bootstrap;
  const others = { token: stranger.access_token, tenant: stranger.tenant_id, body: { description: 'mine' } };
  t.is((await client.call('PATCH', path, others)).status, 404);
});
