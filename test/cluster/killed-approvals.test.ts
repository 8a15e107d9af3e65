// Nodes that are killed while people decide: every decision counts once, and every turn goes on once.
import test from 'ava';
import { calling, saying } from '../support/builders/tool-turns.js';
import { httpTool, publishAgent } from '../support/builders/published-agents.js';
import { openAiAt } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { operatorToken } from '../support/servers/node.js';
import { callServed, type NodeProcess, startNodes } from '../support/servers/nodes.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const openai = new OpenAiServer();
const model = 'openai.gpt-4.1-mini';
const turns = 12;
const patience = { timeoutMs: 120_000, everyMs: 100 };

test.serial.before(() => openai.start());
test.serial.after.always(() => openai.stop());

test.serial('a decision and its turn count once though the owners are killed', async (t) => {
  t.timeout(300_000);
  openai.decide = ({ body }) => {
    const messages = body['messages'] as readonly { role: string; content: unknown }[];
    if (messages.some(({ role }) => role === 'tool')) return saying('Paid.');
    const name = /order-\d+/.exec(JSON.stringify(messages.at(-1)?.content))?.[0];
    return calling(['pay', { name }]);
  };
  const http = await startToolServer(t, (_, response) => answerJson(response, { paid: true }));
  const cluster = await startNodes(t, { environment: openAiAt(openai) });
  const { bootstrap } = cluster;
  const { api_key: key } = bootstrap;
  const [first] = cluster.nodes as [NodeProcess, ...NodeProcess[]];
  await first.client.call('PATCH', `/api/tenants/${bootstrap.tenant_id}/plan`, {
    token: operatorToken,
    body: { plan: 'enterprise' },
  });
  const tool = httpTool('pay', http.url) as { editor_schema: { api: object } };
  const api = { ...tool.editor_schema.api, method: 'POST' };
  const agentId = await publishAgent(first.client, bootstrap, {
    model,
    schemas: [{ ...tool, editor_schema: { api, approval: 'always' } }],
  });
  // The readers may be cut off; the turns go on.
  for (let at = 0; at < turns; at += 1) {
    const node = cluster.nodes[at % cluster.nodes.length] ?? first;
    const body = { message: `pay order-${at}` };
    const headers = { 'idempotency-key': `order-${at}` };
    callServed(node, 'POST', `/api/v2/agents/${agentId}/stream`, { key, body, headers }).catch(
      () => undefined,
    );
  }
  const listed = async (path: string) => (await callServed(first, 'GET', path, { key })).json;
  const pending = await eventually(async () => {
    const { data, count } = await listed('/api/v1/approvals?status=pending');
    return count === turns ? data : undefined;
  }, patience);

  // The first stays: the others are killed during the decisions, with the sessions that they own.
  const kills = cluster.nodes.slice(1).map(async (node, nth) => {
    await eventually(() => http.heard.length > 2 * nth, patience);
    await node.kill();
  });
  const counted = await Promise.all(
    pending.map(async ({ id }: { id: string }) => {
      let accepted = 0;
      await eventually(async () => {
        const { status, text } = await first.client.call('POST', `/api/v1/approvals/${id}`, {
          key,
          body: { decision: 'approve' },
        });
        if (status === 200) accepted += 1;
        else if (status !== 409 && status < 500) t.fail(`${status} ${text}`);
        // Repeated until it is refused, as a client does that got no answer.
        return status === 409;
      }, patience);
      return accepted;
    }),
  );
  await Promise.all(kills);
  // None where the answer was lost with its process.
  t.true(counted.every((accepted) => accepted <= 1));

  const executions = await eventually(async () => {
    const { data } = await listed(`/api/v1/executions?agent_id=${agentId}`);
    return data.every(({ outcome }: { outcome: string | null }) => outcome !== null) ? data : undefined;
  }, patience);
  t.is(executions.length, turns);
  for (const { outcome, error } of executions) t.is(outcome, 'COMPLETED', JSON.stringify(error));
  const calls = http.heard.map(({ body }) => (JSON.parse(body) as { name: string }).name);
  t.is(new Set(calls).size, calls.length, `no approved call is made twice: ${calls.join()}`);
  // A call whose process died during it may have been made or not; the model is told so.
  t.true(calls.length >= turns - 2 * cluster.nodes.length, calls.join());
  const approvals = await listed('/api/v1/approvals?status=approved');
  t.is(approvals.count, turns);
});
