// The life of an account over a whole node: addresses to verify, keys that act by a token, people who leave.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { linkTo, mailsOf } from '../support/builders/account-mails.js';
import { makeTenant, register } from '../support/builders/tenants.js';
import { openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode, type TestNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const model = 'openai.gpt-4.1-mini';

test('an unverified owner spends nothing of the platform, holds no mail address, and verifies by the mail', async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  const environment = { ...openAiAt(server, 'sk-platform-0123456789'), TROUPE_VERIFY_EMAIL: 'on' };
  const node = await startTestNode(t, { environment });
  const { user, tenantId: tenant } = await register(node);
  const { token } = user;
  await node.client.call('PATCH', `/api/tenants/${tenant}/plan`, {
    token: 'operator-token-of-tests-in-one-process',
    body: { plan: 'enterprise' },
  });
  const ask = (name: string) =>
    node.client.call('POST', '/api/v3/llm/call', { token, tenant, body: { model: name, query: 'Hello' } });
  for (const name of [model, 'auto']) {
    const refused = await ask(name);
    t.is(refused.status, 403, refused.text);
    t.is(refused.json.error, 'email_unverified');
  }
  t.is((await ask('sim.echo')).status, 200);
  const post = (path: string, body: object) => node.client.call('POST', path, { token, tenant, body });
  const { api_key: key } = (await post('/api/keys', { name: 'doors' })).json.data;
  const messages = [{ role: 'user', content: 'Hello' }];
  for (const [path, body] of [
    ['/v1/chat/completions', { model, messages }],
    ['/v1/messages', { model, messages, max_tokens: 9 }],
    ['/v1/responses', { model, input: 'Hello' }],
    ['/v1/embeddings', { model: 'openai.text-embedding-3-small', input: 'Hello' }],
  ] as const) {
    const refused = await node.client.call('POST', path, { token: key, body });
    t.is(refused.status, 403, path);
    t.regex(refused.text, /verified email address/, path);
  }
  const agent = (await post('/api/agents', { name: 'unverified', llm_config: { model } })).json.data.id;
  t.is((await post(`/api/agents/${agent}/publish`, {})).status, 200);
  const turn = await post(`/api/v2/agents/${agent}/stream`, { message: 'Hello' });
  t.regex(turn.text, /email_unverified/);
  const config = { agent_id: agent, name: 'mail', trigger_type: 'email', trigger_config: {} };
  t.is((await post('/api/triggers', config)).json.error, 'email_unverified');
  t.is(server.requests.length, 0);
  const domain = { token, tenant, body: { domain: 'unverified.example' } };
  t.is((await node.client.call('POST', '/api/mail-domains', domain)).json.error, 'email_unverified');
  const guest = { email: `${randomUUID()}@test.example`, role: 'member' };
  const invited = await post(`/api/tenants/${tenant}/invites`, guest);
  t.is(invited.status, 403);
  t.is(invited.json.error, 'email_unverified');
  const ownKey = { name: 'own', kind: 'llm_key', provider: 'openai', value: 'sk-own-0001' };
  const made = await node.client.call('POST', '/api/secrets', { token, tenant, body: ownKey });
  t.is((await ask(model)).status, 200, 'own keys work');
  t.is(server.requests.at(-1)?.key, 'sk-own-0001');
  await node.client.call('DELETE', `/api/secrets/${made.json.data.id}`, { token, tenant });
  t.is((await ask(model)).status, 403);
  const verify = { body: { token: await linkTo(mailsOf(node), 'verify', user.email) } };
  t.is((await node.client.call('POST', '/api/auth/verify', verify)).status, 200);
  t.is((await ask(model)).status, 200, 'from the very next call');
  t.is((await node.client.call('POST', '/api/mail-domains', domain)).status, 201);
  t.is((await post('/api/triggers', config)).status, 201);
  t.is((await post(`/api/tenants/${tenant}/invites`, guest)).status, 201);
  const mail = (await mailsOf(node).read()).find((text) => text.includes(`To: ${user.email}`)) ?? '';
  t.regex(mail, /Content-Type: multipart\/alternative/);
  t.regex(mail, /Content-Type: text\/html/);
});

test('registration is open, for invited addresses, or closed', async (t) => {
  const node = await startTestNode(t, { environment: { TROUPE_REGISTRATION: 'invite' } });
  const { access_token: token, tenant_id: tenantId } = node.bootstrap;
  const account = { email: `${randomUUID()}@test.example`, password: 'correct horse battery' };
  const refused = await node.client.call('POST', '/api/auth/register', { body: account });
  t.is(refused.status, 403);
  t.is(refused.json.error, 'registration_closed');
  await node.client.call('POST', `/api/tenants/${tenantId}/invites`, {
    token,
    body: { email: account.email.toUpperCase().replace('@TEST.EXAMPLE', '@test.example'), role: 'editor' },
  });
  t.is((await node.client.call('POST', '/api/auth/register', { body: account })).status, 201);
  const { databaseUrl, dataDir } = node;
  const other = await startTestNode(t, {
    databaseUrl,
    dataDir,
    environment: { TROUPE_REGISTRATION: 'closed' },
  });
  const invited = `${randomUUID()}@test.example`;
  await other.client.call('POST', `/api/tenants/${tenantId}/invites`, {
    token,
    body: { email: invited, role: 'member' },
  });
  const body = { email: invited, password: 'correct horse battery' };
  const closed = await other.client.call('POST', '/api/auth/register', { body });
  t.is(closed.json.error, 'registration_closed');
  const link = await linkTo(mailsOf(other), 'join', invited);
  const accepted = await other.client.call('POST', '/api/invites/accept', {
    body: { token: link, password: 'correct horse battery' },
  });
  t.is(accepted.json.error, 'registration_closed');
  const page = await fetch(`${other.node.baseUrl}/join?token=${link}`);
  t.regex(await page.text(), /does not accept registrations/, 'the page says so before anything is sent');
});

test('the join page shows tenant, inviter and address, and why a link is of no use', async (t) => {
  const node = await startTestNode(t);
  const { access_token: token, tenant_id: tenantId } = node.bootstrap;
  await node.client.call('PATCH', `/api/tenants/${tenantId}`, { token, body: { name: '<b>Ada & Co</b>' } });
  const email = `${randomUUID()}@test.example`;
  await node.client.call('POST', `/api/tenants/${tenantId}/invites`, {
    token,
    body: { email, role: 'editor' },
  });
  const link = await linkTo(mailsOf(node), 'join', email);
  const page = await fetch(`${node.node.baseUrl}/join?token=${link}`);
  const html = await page.text();
  for (const shown of ['&lt;b&gt;Ada &amp; Co&lt;/b&gt;', 'Demo Owner', email, 'editor', 'New password']) {
    t.true(html.includes(shown), shown);
  }
  t.false(html.includes('<b>Ada'));
  const policy = page.headers.get('content-security-policy') ?? '';
  t.regex(policy, /default-src 'none'; script-src 'sha256-[^' ]+'; style-src 'sha256-[^' ]+'/);
  const broken = await (await fetch(`${node.node.baseUrl}/join?token=unknown`)).text();
  t.regex(broken, /invalid or has expired/);
  t.false(broken.includes('<form'));
});

test('an access token that acts as a key manages the tenant, with the role of the key, and ends with it', async (t) => {
  const node = await startTestNode(t);
  const own = await makeTenant(node);
  const other = await makeTenant(node);
  const tokenOf = async (key: string): Promise<string> => {
    const { status, json, text } = await node.client.call('POST', '/api/auth/token', { key });
    if (status !== 200) throw new Error(text);
    t.like(json.data, { token_type: 'Bearer', expires_in: 900 });
    return json.data.access_token;
  };
  for (const role of ['editor', 'member'] as const) {
    const refused = await node.client.call('POST', '/api/auth/token', { key: own.keys[role] });
    t.is(refused.status, 403);
    t.is(refused.json.error, 'insufficient_permissions');
  }
  const made = await node.client.call('POST', '/api/keys', {
    token: own.users.owner.token,
    tenant: own.tenantId,
    body: { name: 'machine', role: 'admin' },
  });
  const key = made.json.data;
  const token = await tokenOf(key.api_key);
  const tenant = own.tenantId;
  const members = await node.client.call('GET', `/api/tenants/${tenant}/members`, { token });
  t.is(members.status, 200, members.text);
  const foreign = await node.client.call('GET', `/api/tenants/${other.tenantId}/members`, { token });
  t.is(foreign.status, 404);
  t.is(foreign.json.error, 'tenant_not_found');
  const child = await node.client.call('POST', '/api/keys', { token, tenant, body: { name: 'child' } });
  t.is(child.status, 201, child.text);
  const listed = await node.client.call('GET', '/api/keys', { token, tenant });
  const byId = new Map<string, { created_by: unknown }>(
    listed.json.data.map((row: { id: string }) => [row.id, row]),
  );
  t.deepEqual(byId.get(child.json.data.id)?.created_by, { id: key.id, name: 'machine' });
  t.like(byId.get(key.id)?.created_by, { id: own.users.owner.userId });
  const invited = await node.client.call('POST', `/api/tenants/${tenant}/invites`, {
    token,
    body: { email: `${randomUUID()}@test.example`, role: 'member' },
  });
  t.is(invited.status, 201, invited.text);
  const above = await node.client.call('POST', `/api/tenants/${tenant}/invites`, {
    token,
    body: { email: `${randomUUID()}@test.example`, role: 'owner' },
  });
  t.is(above.json.error, 'ROLE_ESCALATION_DENIED');
  for (const [method, path] of [
    ['GET', '/api/auth/me'],
    ['POST', '/api/auth/logout-all'],
    ['POST', '/api/auth/verify/resend'],
  ] as const) {
    const refused = await node.client.call(method, path, { token });
    t.is(refused.status, 403, path);
    t.is(refused.json.error, 'insufficient_permissions');
  }
  await node.client.call('DELETE', `/api/keys/${key.id}`, { token: own.users.owner.token, tenant });
  const ended = await node.client.call('GET', `/api/tenants/${tenant}/members`, { token });
  t.is(ended.status, 401);
  t.is(ended.json.error, 'invalid_token');
  const late = await tokenOf(own.keys.admin);
  t.is((await node.client.call('GET', `/api/tenants/${tenant}/members`, { token: late })).status, 200);
  node.passMs(901_000);
  t.is((await node.client.call('GET', `/api/tenants/${tenant}/members`, { token: late })).status, 401);
});

test('a member leaves, with or without the keys that the member made, and a deleted user has no name', async (t) => {
  const node = await startTestNode(t);
  const own = await makeTenant(node);
  const { owner, admin, editor } = own.users;
  const tenant = own.tenantId;
  const make = async (token: string): Promise<{ id: string; api_key: string }> => {
    const body = { name: 'theirs', role: 'editor' };
    return (await node.client.call('POST', '/api/keys', { token, tenant, body })).json.data;
  };
  const [kept, revoked] = [await make(admin.token), await make(editor.token)];
  const remove = (userId: string, query = '') =>
    node.client.call('DELETE', `/api/tenants/${tenant}/members/${userId}${query}`, { token: owner.token });
  t.is((await remove(admin.userId)).status, 200);
  t.is((await remove(editor.userId, '?revoke_keys=true')).status, 200);
  const statusOf = async (key: string): Promise<number> =>
    (await node.client.call('GET', '/api/v3/llm/models', { key })).status;
  t.is(await statusOf(kept.api_key), 200);
  t.is(await statusOf(revoked.api_key), 401);
  t.is(await statusOf(own.keys.admin), 200, 'keys of others stay');
  const creator = async (id: string): Promise<unknown> =>
    (await node.client.call('GET', `/api/keys/${id}`, { token: owner.token, tenant })).json.data.created_by;
  t.deepEqual(await creator(kept.id), { id: admin.userId, name: admin.email.split('@')[0] });
  await leaveOwnTenant(node, admin.token);
  const deleted = await node.client.call('DELETE', '/api/auth/me', {
    token: admin.token,
    body: { password: admin.password },
  });
  t.is(deleted.status, 200, deleted.text);
  t.deepEqual(await creator(kept.id), { id: admin.userId, name: 'deleted user' });
});

/** Another person becomes an owner of the tenants of their own, so that the account may go. */
async function leaveOwnTenant(node: TestNode, token: string): Promise<void> {
  const { json } = await node.client.call('GET', '/api/tenants', { token });
  for (const { id } of json.data as { id: string }[]) {
    const { user } = await register(node);
    await node.client.call('POST', `/api/tenants/${id}/invites`, {
      token,
      body: { email: user.email, role: 'owner' },
    });
    const link = await eventually(() => linkTo(mailsOf(node), 'join', user.email));
    await node.client.call('POST', '/api/invites/accept', { token: user.token, body: { token: link } });
  }
}
