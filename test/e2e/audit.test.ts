import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { linkTo, mailsOf } from '../support/builders/account-mails.js';
import { makeTenant, type TestTenant } from '../support/builders/tenants.js';
import type { Json } from '../support/clients/client.js';
import { mcpClient, structured } from '../support/clients/mcp.js';
import { startConversations } from '../support/servers/conversations.js';
import { operatorToken, type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

interface Place {
  readonly node: TenantNode;
  readonly tenant: TestTenant;
  readonly act: (method: string, path: string, body?: object, token?: string) => Promise<Json>;
  readonly entries: (query?: string) => Promise<readonly Json[]>;
}

async function placeOf(t: ExecutionContext): Promise<Place> {
  const node = await shared.tenant(t);
  const tenant = await makeTenant(node);
  return {
    node,
    tenant,
    act: async (method, path, body, token = tenant.users.owner.token) => {
      const { status, json, text } = await node.client.call(method, path, {
        token,
        tenant: tenant.tenantId,
        ...(body === undefined ? {} : { body }),
      });
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
      return json.data;
    },
    entries: async (query = '') => {
      const { status, json, text } = await node.client.call('GET', `/api/v1/audit${query}`, {
        key: tenant.keys.admin,
      });
      if (status !== 200) throw new Error(`audit: ${status} ${text}`);
      return json.data;
    },
  };
}

test('an operation that changes something leaves one entry, with the request and the fields', async (t) => {
  const { tenant, act, entries } = await placeOf(t);
  const agent = await act('POST', '/api/agents', { name: 'Audited', bio: 'one' });
  await act('PATCH', `/api/agents/${agent.id}`, { bio: 'two' });
  await act('PATCH', `/api/tenants/${tenant.tenantId}/members/${tenant.users.member.userId}`, {
    role: 'editor',
  });
  const found = await entries(`?target=${agent.id}`);
  t.deepEqual(
    found.map(({ action }) => action),
    ['agents.update', 'agents.create'],
  );
  const [update] = found;
  t.deepEqual(Object.keys(update).toSorted(), [
    'action',
    'actor',
    'address',
    'at',
    'changes',
    'id',
    'outcome',
    'request_id',
    'target',
  ]);
  t.deepEqual(update.changes, { bio: { old: 'one', new: 'two' } });
  t.is(update.actor.kind, 'user');
  t.is(update.actor.id, tenant.users.owner.userId);
  t.deepEqual(update.target, { kind: 'agent', id: agent.id, name: 'Audited' });
  t.truthy(update.request_id);
  t.truthy(update.address);
  const [role] = await entries('?action=members.update');
  t.deepEqual(role.changes, { role: { old: 'member', new: 'editor' } });
  t.is(role.target.id, tenant.users.member.userId);
});

test('a refused attempt on a user names the user only to the tenants of that user', async (t) => {
  const { node, tenant, entries } = await placeOf(t);
  const stranger = (await makeTenant(node)).users.owner.userId;
  const { member, editor } = tenant.users;
  for (const id of [stranger, randomUUID(), editor.userId]) {
    const { status } = await node.client.call('PATCH', `/api/tenants/${tenant.tenantId}/members/${id}`, {
      token: member.token,
      body: { role: 'member' },
    });
    t.is(status, 403);
  }
  const [ofEditor, ofNobody, ofStranger] = await entries('?action=members.update');
  t.deepEqual(ofEditor.target, { kind: 'user', id: editor.userId, name: editor.email.split('@')[0] });
  t.is(ofStranger.target.id, stranger);
  t.is(ofStranger.target.name, null);
  t.is(ofNobody.target.name, null, 'nor whether there is such a user');
});

test('a refused attempt on a user who was deleted later names a deleted user', async (t) => {
  const { node, tenant, entries } = await placeOf(t);
  const { editor, member } = tenant.users;
  const path = `/api/tenants/${tenant.tenantId}/members/${editor.userId}`;
  const refused = await node.client.call('PATCH', path, { token: member.token, body: { role: 'member' } });
  t.is(refused.status, 403);
  const as = (method: string, at: string, body?: object) =>
    node.client.call(method, at, { token: editor.token, ...(body === undefined ? {} : { body }) });
  const own = (await as('GET', '/api/tenants')).json.data.find(({ role }: Json) => role === 'owner');
  await as('DELETE', `/api/tenants/${own.id}`, { confirm: own.name });
  t.is((await as('DELETE', '/api/auth/me', { password: editor.password })).status, 200);
  const [entry] = await entries('?action=members.update');
  t.is(entry?.outcome, 'refused');
  t.deepEqual(entry?.target, { kind: 'user', id: editor.userId, name: 'deleted user' });
});

test('a refused invitation has no id of something else', async (t) => {
  const { node, tenant, entries } = await placeOf(t);
  const { status } = await node.client.call('POST', `/api/tenants/${tenant.tenantId}/invites`, {
    token: tenant.users.member.token,
    body: { email: 'new@test.example', role: 'member' },
  });
  t.is(status, 403);
  const [entry] = await entries('?action=invites.create');
  t.is(entry?.outcome, 'refused');
  t.deepEqual(entry?.target, { kind: 'invite', id: null, name: null });
});

test('a tool that puts the secret of a trigger into the vault leaves one entry', async (t) => {
  const { node, tenant, entries, act } = await placeOf(t);
  const agent = await act('POST', '/api/agents', { name: 'Called' });
  const client = await mcpClient(t, node.node.baseUrl, tenant.keys.admin);
  const before = (await entries()).length;
  const call = async (name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const answer = structured(await client.callTool({ name, arguments: args }));
    t.is(answer['error'], undefined, JSON.stringify(answer));
    return answer;
  };
  const made = (await call('create_trigger', {
    agent_id: agent.id,
    name: 'hook',
    trigger_type: 'webhook',
    trigger_config: {},
  })) as Json;
  await call('rotate_trigger_secret', { trigger_id: made.data.id });
  const left = await entries();
  t.deepEqual(
    left.slice(0, left.length - before).map(({ action }) => action),
    ['triggers.rotate-secret', 'triggers.create'],
  );
});

test('what had no entry before has one: control, cancel, erasure, manual messages, schemas', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node);
  const { sessionId } = await talk.say({ message: 'hello' });
  await talk.post(`/api/v1/sessions/${sessionId}/handoff`, { reason: 'a person asked' });
  await talk.post(`/api/v1/sessions/${sessionId}/manual-message`, { message: 'planted words' });
  await talk.post(`/api/v1/sessions/${sessionId}/resume`, {});
  await talk.post(`/api/v1/sessions/${sessionId}/cancel`, {});
  await node.client.call('DELETE', `/api/v1/sessions/${sessionId}`, { key: node.bootstrap.api_key });
  const { data } = await talk.get(`/api/v1/audit?target=${sessionId}`);
  const actions = data.map(({ action }: Json) => action);
  t.is(new Set(actions).size, actions.length, 'one entry each');
  for (const verb of ['handoff', 'cancel', 'erase']) t.true(actions.includes(`sessions.${verb}`), verb);
  t.false(JSON.stringify(data).includes('planted words'));
  t.false(JSON.stringify(data).includes('a person asked'));
  t.true(data.every(({ actor }: Json) => actor.kind === 'key'));
});

test('refused attempts on members, keys, secrets and control are entries', async (t) => {
  const { node, tenant, entries } = await placeOf(t);
  const { editor, member } = tenant.users;
  const as = async (token: string, method: string, path: string, body: object): Promise<void> => {
    const { status } = await node.client.call(method, path, { token, tenant: tenant.tenantId, body });
    t.is(status, 403, path);
  };
  await as(editor.token, 'POST', '/api/secrets', { name: 'x', value: 'do-not-tell', kind: 'generic' });
  await as(editor.token, 'PATCH', `/api/tenants/${tenant.tenantId}/members/${member.userId}`, {
    role: 'owner',
  });
  await as(member.token, 'POST', '/api/keys', { name: 'mine' });
  await as(member.token, 'POST', `/api/v1/sessions/${tenant.tenantId}/handoff`, {});
  const refused = (await entries()).filter(({ outcome }) => outcome === 'refused');
  t.deepEqual(refused.map(({ action }) => String(action)).toSorted(), [
    'keys.create',
    'members.update',
    'secrets.create',
    'sessions.handoff',
  ]);
  t.false(JSON.stringify(refused).includes('do-not-tell'));
  const byEditor = (await entries(`?actor=${editor.userId}`)).filter(({ outcome }) => outcome === 'refused');
  t.is(byEditor.length, 2);
});

test('a refused tool leaves the entry that the refused request leaves', async (t) => {
  const { node, tenant, entries, act } = await placeOf(t);
  const { key } = await act('POST', '/api/keys', { name: 'tools', role: 'editor' }).then(
    ({ api_key }: Json) => ({ key: String(api_key) }),
  );
  const { member } = tenant.users;
  const client = await mcpClient(t, node.node.baseUrl, key);
  const call = async (name: string, args: Record<string, unknown>): Promise<void> => {
    const answer = structured(await client.callTool({ name, arguments: args }));
    t.is(answer['error'], 'insufficient_permissions', name);
  };
  await call('update_member_role', { user_id: member.userId, role: 'owner' });
  await call('create_secret', { name: 'x', value: 'do-not-tell', kind: 'generic' });
  await call('suspend_session', { session_id: member.userId });
  const refused = (await entries()).filter(({ outcome }) => outcome === 'refused');
  const told = refused.map(({ action, target }) => `${action} ${target?.id ?? ''}`).toSorted();
  t.deepEqual(told, [
    `members.update ${member.userId}`,
    'secrets.create ',
    `sessions.suspend ${member.userId}`,
  ]);
  t.false(JSON.stringify(refused).includes('do-not-tell'));
});

test('a secret leaves its name and never its value', async (t) => {
  const { act, entries } = await placeOf(t);
  const secret = await act('POST', '/api/secrets', { name: 'mail', value: 'hush-hush', kind: 'generic' });
  await act('PUT', `/api/secrets/${secret.id}/value`, { value: 'hush-again' });
  const found = await entries(`?target=${secret.id}`);
  t.is(found.length, 2);
  t.false(JSON.stringify(found).includes('hush'));
});

test('pages and days', async (t) => {
  const { node, tenant, act, entries } = await placeOf(t);
  for (const name of ['a', 'b', 'c']) await act('POST', '/api/agents', { name });
  const all = await entries('?action=agents.create');
  t.is(all.length, 3);
  const first = await node.client.call('GET', '/api/v1/audit?action=agents.create&limit=2', {
    key: tenant.keys.owner,
  });
  t.truthy(first.json.next_cursor);
  const second = await entries(`?action=agents.create&limit=2&cursor=${first.json.next_cursor}`);
  t.deepEqual([...first.json.data, ...second], all);
  t.deepEqual(await entries('?end_date=2020-01-01'), []);
  const stranger = await node.client.call('GET', '/api/v1/audit', { key: tenant.keys.editor });
  t.is(stranger.status, 403);
});

test('an entry names its request also where no tenant is known when the request arrives', async (t) => {
  const { node, tenant, entries } = await placeOf(t);
  const token = tenant.users.owner.token;
  const made = await node.client.call('POST', '/api/tenants', { token, body: { name: 'Second' } });
  t.is(made.status, 201, made.text);
  const listed = await node.client.call('GET', '/api/v1/audit', { token, tenant: made.json.data.id });
  const created = listed.json.data.find(({ action }: Json) => action === 'tenant.created');
  t.is(created?.request_id, made.headers.get('x-request-id'), listed.text);
  t.truthy(created?.address);
  // The tenant was made by a registration, a change of its plan by the operator, and three invitations.
  const all = await entries();
  for (const [action, times] of [
    ['user.registered', 1],
    ['tenant.plan-changed', 1],
    ['member.joined', 3],
  ] as const) {
    const found = all.filter((entry) => entry.action === action);
    t.is(found.length, times, action);
    t.true(
      found.every(({ request_id: id, address }) => id !== null && address !== null),
      action,
    );
    t.is(new Set(found.map(({ request_id: id }) => id)).size, times, action);
  }
  const changesOf = (action: string): Json => all.find((entry) => entry.action === action).changes;
  t.deepEqual(changesOf('tenant.plan-changed'), { plan: { old: 'free', new: 'enterprise' } });
  t.deepEqual(changesOf('member.joined'), { role: { old: null, new: 'member' } });
  t.deepEqual(created.changes, {
    name: { old: null, new: 'Second' },
    plan: { old: null, new: 'free' },
  });
  t.is(created.target.name, 'Second');
});

test('the operator leaves the figures that changed, and keeps the reason of a suspension', async (t) => {
  const { node, tenant, entries } = await placeOf(t);
  const { tenantId: id } = tenant;
  const act = (method: string, path: string, body: object) =>
    node.client.call(method, path, { token: operatorToken, body });
  await act('PATCH', `/api/tenants/${id}/plan`, { settings: { requests_per_day: 7 } });
  await act('POST', `/api/v1/operator/tenants/${id}/suspend`, { reason: 'words of the operator' });
  await act('POST', `/api/v1/operator/tenants/${id}/resume`, {});
  const [resumed, suspended, planned] = await entries(`?target=${id}`);
  t.deepEqual(planned?.changes, { settings: { old: {}, new: { requests_per_day: 7 } } });
  t.deepEqual(suspended?.changes, { status: { old: 'active', new: 'suspended' } });
  t.deepEqual(resumed?.changes, { status: { old: 'suspended', new: 'active' } });
  for (const entry of [planned, suspended, resumed]) t.is(entry?.actor.kind, 'operator');
  t.false(JSON.stringify(suspended).includes('words of the operator'));
});

test('what users do to their accounts is in the audit of each of their tenants', async (t) => {
  const { node, tenant, entries } = await placeOf(t);
  const stranger = await makeTenant(node);
  const { email, password, userId } = tenant.users.editor;
  let { token } = tenant.users.editor;
  const send = async (method: string, path: string, body?: object): Promise<Json> => {
    const answer = await node.client.call(method, path, { token, ...(body === undefined ? {} : { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.json;
  };
  const next = 'another horse battery';
  await send('POST', '/api/auth/password', { current_password: password, new_password: next });
  await send('POST', '/api/auth/logout-all');
  await send('POST', '/api/auth/password/forgot', { email });
  const link = await linkTo(mailsOf(node), 'reset', email);
  await send('POST', '/api/auth/password/reset', { token: link, new_password: password });
  ({ access_token: token } = (await send('POST', '/api/auth/login', { email, password })).data);
  const { data: tenants } = await send('GET', '/api/tenants');
  const own = tenants.find(({ role }: Json) => role === 'owner');
  const inOwn = await node.client.call('GET', '/api/v1/audit?action=user.password-reset', {
    token,
    tenant: own.id,
  });
  t.is(inOwn.json.count, 1, inOwn.text);
  await send('DELETE', `/api/tenants/${own.id}`, { confirm: own.name });
  await send('DELETE', '/api/auth/me', { password });
  const found = await entries(`?target=${userId}`);
  t.deepEqual(
    found.map(({ action }) => action),
    [
      'user.deleted',
      'user.password-reset',
      'user.signed-out-everywhere',
      'user.password-changed',
      'member.joined',
    ],
  );
  for (const { actor, target, request_id: request, address } of found) {
    t.deepEqual(actor, { kind: 'user', id: userId, name: 'deleted user' });
    t.is(target.name, 'deleted user');
    t.truthy(request);
    t.truthy(address);
  }
  t.false(JSON.stringify(found).includes(own.id), 'nothing of other tenants');
  const foreign = await node.client.call('GET', `/api/v1/audit?target=${userId}`, {
    key: stranger.keys.admin,
  });
  t.is(foreign.json.count, 0);
});
