// An agent that is published for some users, and everybody else who runs one of its triggers by hand.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { mcpClient, structured } from '../support/clients/mcp.js';
import { asOwner, createTrigger, executionsOf, sendSigned } from '../support/builders/triggers.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test('a user for whom the agent is not runs none of its triggers by hand', async (t) => {
  const node = await shared.tenant(t);
  const { agent_id: agent, access_token: token, tenant_id: tenant, api_key: key } = node.bootstrap;
  const trigger = await createTrigger(node, {});
  const publishFor = async (...allowed_users: string[]): Promise<void> => {
    const { status, text } = await asOwner(node, 'POST', `/api/agents/${agent}/publish`, {
      config: { allowed_users },
    });
    t.is(status, 200, text);
  };
  const invoke = () => asOwner(node, 'POST', `/api/triggers/${trigger.id}/invoke`, { message: 'hello' });
  await publishFor(randomUUID());
  const streamed = await asOwner(node, 'POST', `/api/v2/agents/${agent}/stream`, { message: 'hello' });
  t.is(streamed.status, 403, streamed.text);
  const refused = await invoke();
  t.is(refused.status, 403, refused.text);
  t.like(refused.json, { error: 'insufficient_permissions', message: streamed.json.message });
  const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': tenant, 'x-api-key': '' };
  const mcp = await mcpClient(t, node.client.baseUrl, '', { headers });
  const call = await mcp.callTool({
    name: 'invoke_trigger',
    arguments: { trigger_id: trigger.id, message: 'hello' },
  });
  t.true(call.isError);
  t.is(structured(call)['error'], 'insufficient_permissions');
  t.deepEqual(await executionsOf(node, trigger), []);

  // What comes from outside is the trigger's: somebody who may change it has chosen its agent.
  t.is((await sendSigned(node, trigger, { message: 'hello' })).status, 200);
  const path = `/api/triggers/${trigger.id}/invoke`;
  t.is((await node.client.call('POST', path, { key, body: { message: 'hello' } })).status, 200);

  const me = await asOwner(node, 'GET', '/api/auth/me');
  await publishFor(me.json.data.user.id);
  const allowed = await invoke();
  t.is(allowed.json.agent_response, 'echo: hello', allowed.text);
});
