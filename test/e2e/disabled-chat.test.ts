import test from 'ava';
import { mcpClient, structured } from '../support/clients/mcp.js';
import { asOwner, createTrigger, sendSigned } from '../support/builders/triggers.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test('an agent with chat switched off answers triggers, and refuses the stream and chat_with_agent', async (t) => {
  const node = await shared.tenant(t);
  const { agent_id: agentId, api_key: key } = node.bootstrap;
  const change = async (chat_enabled: boolean): Promise<void> => {
    const patched = await asOwner(node, 'PATCH', `/api/agents/${agentId}`, { chat_enabled });
    t.is(patched.status, 200, patched.text);
    t.is((await asOwner(node, 'POST', `/api/agents/${agentId}/publish`, {})).status, 200);
  };
  const stream = () =>
    node.client.call('POST', `/api/v2/agents/${agentId}/stream`, { key, body: { message: 'hello' } });
  const trigger = await createTrigger(node, {});
  await change(false);
  const refused = await stream();
  t.is(refused.status, 403, refused.text);
  t.is(refused.json.error, 'chat_disabled');
  const mcp = await mcpClient(t, node.client.baseUrl, key);
  const call = await mcp.callTool({
    name: 'chat_with_agent',
    arguments: { agent_id: agentId, message: 'hello' },
  });
  t.true(call.isError);
  t.is(structured(call)['error'], 'chat_disabled');
  const sent = await sendSigned(node, trigger, { message: 'hello' });
  t.is(sent.status, 200, sent.text);
  t.is(sent.json.agent_response, 'echo: hello');
  await change(true);
  t.is((await stream()).status, 200);
});
