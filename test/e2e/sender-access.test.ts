import test from 'ava';
import { operatorToken } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { asOwner, createTrigger, sendSigned } from '../support/builders/triggers.js';

const shared = sharedNode(test);

test('a member writes to the agent until the account is disabled', async (t) => {
  const node = await shared.tenant(t);
  const { email } = node.bootstrap.owner;
  const trigger = await createTrigger(node, {
    sender_access: { mode: 'members', identity_field: 'user' },
  });
  const send = () => sendSigned(node, trigger, { message: 'hi', user: email });
  t.is((await send()).json.agent_response, 'echo: hi');
  const users = '/api/v1/operator/users';
  const search = `${users}?search=${encodeURIComponent(email)}`;
  const [{ id }] = (await node.client.call('GET', search, { token: operatorToken })).json.data;
  await node.client.call('POST', `${users}/${id}/disable`, { token: operatorToken });
  t.is((await send()).text, '<Response></Response>');
});

test('a member is found by an external id in the spelling that both sides use', async (t) => {
  const node = await shared.tenant(t);
  const { tenant_id: tenant, owner } = node.bootstrap;
  const { json } = await asOwner(node, 'GET', `/api/tenants/${tenant}/members`);
  const { user_id: user } = json.data.find(({ email }: { email: string }) => email === owner.email);
  const trigger = await createTrigger(node, {
    sender_access: { mode: 'members', identity_field: 'user', match_column: 'external_id' },
  });
  const send = (sender: string) => sendSigned(node, trigger, { message: 'hi', user: sender });
  for (const id of ['E-7', 'Ada.Lovelace@Corp.example', '+49 (171) 555']) {
    const path = `/api/tenants/${tenant}/members/${user}`;
    t.is((await asOwner(node, 'PATCH', path, { external_id: id })).status, 200, id);
    t.is((await send(id)).json?.agent_response, 'echo: hi', id);
    t.is((await send(`${id}0`)).text, '<Response></Response>', id);
  }
});
