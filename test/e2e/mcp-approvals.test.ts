// Chats over MCP whose turns wait for a person.
import test from 'ava';
import { calling, saying } from '../support/builders/tool-turns.js';
import { sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import { mcpClient, structured } from '../support/clients/mcp.js';
import { eventually } from '../support/clocks/eventually.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';
import { decide, paid, startApprovals } from '../support/servers/waiting-turns.js';

const openai = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, openai);

test.serial('a turn that waits is answered at once, and goes on without its client', async (t) => {
  const bench = await startApprovals(t, await shared.tenant(t));
  const { node, talk, agentId } = bench;
  openai.script(calling(['pay', { amount: 5 }]), saying('Paid.'));
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const params = { name: 'chat_with_agent', arguments: { agent_id: agentId, message: 'pay it' } };
  const result = await client.callTool(params, { timeout: 20_000 });
  t.true(result.isError);
  const answer = structured(result);
  t.is(answer['error'], 'approval_pending');
  await client.close();
  const [pending] = (await talk.get('/api/v1/approvals?status=pending')).data;
  t.like(answer, {
    approval_id: pending.id,
    execution_id: pending.execution_id,
    session_id: pending.session_id,
  });
  t.is((await decide(bench, pending.id, { decision: 'approve' })).status, 200);
  const execution = () => talk.get(`/api/v1/executions/${pending.execution_id}`);
  await eventually(async () => (await execution()).data.outcome === 'COMPLETED');
  t.deepEqual(paid(bench), [{ amount: 5 }]);
});

test.serial('a repeat reads past the approvals that were decided meanwhile', async (t) => {
  const bench = await startApprovals(t, await shared.tenant(t));
  const { node, agentId } = bench;
  openai.script(calling(['pay', { amount: 5 }]), calling(['pay', { amount: 6 }]), saying('Paid twice.'));
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const params = {
    name: 'chat_with_agent',
    arguments: { agent_id: agentId, message: 'pay it' },
    _meta: { idempotency_key: 'a repeat' },
  };
  const call = async () => structured(await client.callTool(params, { timeout: 20_000 }));
  const seen = new Set<unknown>();
  for (const turn of ['first', 'second']) {
    const answer = await call();
    t.is(answer['error'], 'approval_pending', turn);
    seen.add(answer['approval_id']);
    t.is((await decide(bench, String(answer['approval_id']), { decision: 'approve' })).status, 200);
  }
  t.is(seen.size, 2);
  t.like(await call(), { outcome: 'COMPLETED' });
  t.deepEqual(paid(bench), [{ amount: 5 }, { amount: 6 }]);
});
