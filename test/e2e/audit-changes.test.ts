// Entries of requests that name their change in the path, not in a body.
import test from 'ava';
import { asOwner, createTrigger } from '../support/builders/triggers.js';
import { makeTenant } from '../support/builders/tenants.js';
import type { Json } from '../support/clients/client.js';
import { startConversations } from '../support/servers/conversations.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

async function act(node: TenantNode, method: string, path: string, body?: object): Promise<Json> {
  const { status, json, text } = await asOwner(node, method, path, body);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  return json.data;
}

/** What the entries of a thing tell, oldest first. */
async function changesOf(node: TenantNode, target: string): Promise<readonly Json[]> {
  const entries = (await act(node, 'GET', `/api/v1/audit?target=${target}`)) as readonly Json[];
  return entries.map(({ action, changes }) => [action, changes]).toReversed();
}

const set = (field: string, old: unknown, next: unknown) => ({ [field]: { old, new: next } });

test('a trigger that is switched tells its state before and after', async (t) => {
  const node = await shared.tenant(t);
  const { id } = await createTrigger(node, {});
  for (const verb of ['disable', 'disable', 'enable']) await act(node, 'POST', `/api/triggers/${id}/${verb}`);
  t.deepEqual((await changesOf(node, id)).slice(1), [
    ['triggers.disable', set('enabled', true, false)],
    ['triggers.disable', {}],
    ['triggers.enable', set('enabled', false, true)],
  ]);
});

test('a key that is revoked tells its status, and a member who is removed the role', async (t) => {
  const node = await shared.tenant(t);
  const key = await act(node, 'POST', '/api/keys', { name: 'K', role: 'member' });
  await act(node, 'DELETE', `/api/keys/${key.id}`);
  t.deepEqual((await changesOf(node, key.id)).at(-1), ['keys.revoke', set('status', 'active', 'revoked')]);

  const tenant = await makeTenant(node);
  const { owner, member } = tenant.users;
  const path = `/api/tenants/${tenant.tenantId}/members/${member.userId}`;
  const removed = await node.client.call('DELETE', path, { token: owner.token });
  t.is(removed.status, 200, removed.text);
  const { json } = await node.client.call('GET', '/api/v1/audit?action=members.remove', {
    key: tenant.keys.owner,
  });
  t.deepEqual(json.data[0]?.changes, set('role', 'member', null));
});

test('the control of a session tells the mode and no word of the reason', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node);
  const { sessionId } = await talk.say({ message: 'hello' });
  const body = { reason: 'words', expires_in_seconds: 60 };
  for (const verb of ['suspend', 'handoff', 'resume'])
    await talk.post(`/api/v1/sessions/${sessionId}/${verb}`, verb === 'suspend' ? body : {});
  const changes = await changesOf(node, sessionId);
  t.deepEqual(changes, [
    [
      'sessions.suspend',
      { ...set('control_mode', 'engaged', 'manual_handoff'), ...set('expires_in_seconds', null, 60) },
    ],
    ['sessions.handoff', {}],
    ['sessions.resume', set('control_mode', 'manual_handoff', 'engaged')],
  ]);
});

test('a copy of an agent tells its name, a publication and a rollback their versions', async (t) => {
  const node = await shared.tenant(t);
  const agent = await act(node, 'POST', '/api/agents', { name: 'One' });
  const copy = await act(node, 'POST', `/api/agents/${agent.id}/duplicate`, {});
  t.deepEqual(await changesOf(node, copy.id), [['agents.duplicate', set('name', null, copy.name)]]);

  const at = `/api/agents/${agent.id}`;
  await act(node, 'POST', `${at}/publish`, {});
  await act(node, 'POST', `${at}/versions/1/rollback`, {});
  await act(node, 'POST', `${at}/unpublish`);
  await act(node, 'POST', `${at}/versions/2/rollback`, {});
  t.deepEqual((await changesOf(node, agent.id)).slice(1), [
    ['agents.publish', { ...set('status', 'draft', 'published'), ...set('published_version', null, 1) }],
    ['agent-versions.rollback', { ...set('published_version', 1, 2), ...set('version', null, 2) }],
    ['agents.unpublish', { ...set('status', 'published', 'draft'), ...set('published_version', 2, null) }],
    ['agent-versions.rollback', set('version', null, 3)],
  ]);
});
