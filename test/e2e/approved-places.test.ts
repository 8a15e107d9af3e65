// A secret of a trigger is approved for a place: an editor can change neither scheme nor host nor port of it.
import test from 'ava';
import { type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { ownerView } from '../support/database/owner-view.js';
import { linkTo, mailsOf } from '../support/builders/account-mails.js';
import { register } from '../support/builders/tenants.js';
import { addSecret, asOwner, createTrigger } from '../support/builders/triggers.js';

const shared = sharedNode(test);

/** Calls of an editor whom the owner of the demo tenant invited. */
async function editorOf(node: TenantNode) {
  const tenant = node.bootstrap.tenant_id;
  const { email, token } = (await register(node)).user;
  await asOwner(node, 'POST', `/api/tenants/${tenant}/invites`, { email, role: 'editor' });
  const accepted = await node.client.call('POST', '/api/invites/accept', {
    token,
    body: { token: await linkTo(mailsOf(node), 'join', email) },
  });
  if (accepted.status >= 300) throw new Error(accepted.text);
  return (method: string, path: string, body: unknown) =>
    node.client.call(method, path, { token, tenant, body });
}

test('an editor can change only the path of a callback that sends a secret', async (t) => {
  const node = await shared.tenant(t);
  const editor = await editorOf(node);
  await addSecret(node, 'token', 'value');
  const to = (url: string) => ({ execution: { callback: { url } } });
  const trigger = await createTrigger(node, {
    execution: {
      mode: 'async',
      callback: { url: 'https://crm.example.com/in', auth: { type: 'bearer', secret_ref: 'token' } },
    },
  });
  const patch = (trigger_config: object) =>
    editor('PATCH', `/api/triggers/${trigger.id}`, { trigger_config });
  t.is((await patch(to('https://crm.example.com:443/other'))).status, 200);
  for (const url of [
    'http://crm.example.com/other',
    'https://crm.example.com:8443/other',
    'http://crm.example.com:443/other',
    'https://other.example.com/other',
  ]) {
    const refused = await patch(to(url));
    t.is(refused.status, 403, url);
    t.like(refused.json, {
      error: 'insufficient_permissions',
      details: { field: 'trigger_config.execution.callback.auth.secret_ref' },
    });
  }
  const byOwner = await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, {
    trigger_config: to('https://crm.example.com:8443/in'),
  });
  t.is(byOwner.status, 200, byOwner.text);
  t.is((await patch(to('https://crm.example.com:8443/again'))).status, 200);
  t.is((await patch(to('https://crm.example.com/again'))).status, 403, 'approved before, and no longer');
});

test('an editor can change neither the port of a mailbox nor its TLS', async (t) => {
  const node = await shared.tenant(t);
  const editor = await editorOf(node);
  await addSecret(node, 'mailbox', 'value');
  const imap = { host: 'mail.example.com', port: 993, user: 'support', secret_ref: 'mailbox' };
  const trigger = await createTrigger(node, { imap }, 'email');
  const patch = (change: object) =>
    editor('PATCH', `/api/triggers/${trigger.id}`, { trigger_config: { imap: change } });
  t.is((await patch({ mailbox: 'Support' })).status, 200);
  for (const change of [
    { port: 143 },
    { port: 9993, tls: true },
    { tls: false },
    { host: 'mx.example.com' },
  ]) {
    t.is((await patch(change)).status, 403, JSON.stringify(change));
  }
});

test('a list of hosts lets an editor send a secret there over TLS, but not in the clear', async (t) => {
  const node = await shared.tenant(t);
  const editor = await editorOf(node);
  const secret = {
    name: 'listed',
    value: 'v',
    kind: 'generic',
    allowed_hosts: ['crm.example.com', '127.0.0.1'],
  };
  t.is((await asOwner(node, 'POST', '/api/secrets', secret)).status, 201);
  const create = (url: string) =>
    editor('POST', '/api/triggers', {
      agent_id: node.bootstrap.agent_id,
      name: url,
      trigger_type: 'webhook',
      trigger_config: {
        execution: { mode: 'async', callback: { url, auth: { type: 'bearer', secret_ref: 'listed' } } },
      },
    });
  t.is((await create('https://crm.example.com:8443/')).status, 201);
  t.is((await create('http://127.0.0.1:8080/')).status, 201, 'that does not leave the machine');
  const refused = await create('http://crm.example.com/');
  t.is(refused.status, 403);
  t.regex(refused.json.message, /TLS/);
});

test('an old approval that names only the host applies to TLS on the default port', async (t) => {
  const node = await shared.tenant(t);
  const editor = await editorOf(node);
  await addSecret(node, 'token', 'value');
  const made = (url: string) =>
    createTrigger(node, {
      execution: { mode: 'async', callback: { url, auth: { type: 'bearer', secret_ref: 'token' } } },
    });
  const usual = await made('https://crm.example.com/in');
  const plain = await made('http://crm.example.com/in');
  const owner = await ownerView(node.databaseUrl);
  await owner.query("update triggers set approved = '{name:token crm.example.com}' where tenant_id = $1", [
    node.bootstrap.tenant_id,
  ]);
  await owner.end();
  t.is((await editor('PATCH', `/api/triggers/${usual.id}`, { name: 'one' })).status, 200);
  t.is((await editor('PATCH', `/api/triggers/${usual.id}`, { name: 'two' })).status, 200);
  t.is((await editor('PATCH', `/api/triggers/${plain.id}`, { name: 'three' })).status, 403);
  t.is((await asOwner(node, 'PATCH', `/api/triggers/${plain.id}`, { name: 'three' })).status, 200);
  t.is((await editor('PATCH', `/api/triggers/${plain.id}`, { name: 'four' })).status, 200);
});
