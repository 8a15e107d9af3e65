// Messages that a node had just accepted when it was killed: they and the later ones of their sessions do not wait for
// the end of its claims.
import { createHmac, randomUUID } from 'node:crypto';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { publishAgent } from '../support/builders/published-agents.js';
import { ownerView } from '../support/database/owner-view.js';
import { startHeldTool } from '../support/servers/held-tool.js';
import { startNodes } from '../support/servers/nodes.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';

const sessions = 20;

test('messages accepted by a killed node are answered without waiting for the end of its claims', async (t) => {
  t.timeout(400_000);
  const calledBack = new Set<string>();
  const receiver = await startToolServer(t, ({ headers }, response) => {
    const [execution = ''] = String(headers['idempotency-key']).split(':');
    calledBack.add(execution);
    answerJson(response, {});
  });
  const cluster = await startNodes(t);
  const [other, victim] = cluster.nodes;
  if (other === undefined || victim === undefined) throw new Error('no nodes');
  const owner = { token: cluster.bootstrap.access_token, tenant: cluster.bootstrap.tenant_id };
  const tool = await startHeldTool(t);
  const agentId = await publishAgent(other.client, cluster.bootstrap, tool.agent);
  const made = await other.client.call('POST', '/api/triggers', {
    ...owner,
    body: {
      agent_id: agentId,
      name: 'webhook',
      trigger_type: 'webhook',
      trigger_config: {
        session_strategy: { mode: 'derive', fields: ['user'] },
        execution: { mode: 'async', callback: { url: receiver.url }, message_buffer: { enabled: false } },
      },
    },
  });
  const { id, webhook_secret: secret } = made.json.data;
  const send = async (url: string, user: number): Promise<string> => {
    const body = JSON.stringify({ message: 'please wait', user: `user-${user}` });
    const signature = createHmac('sha256', String(secret)).update(body).digest('hex');
    const headers = {
      'content-type': 'application/json',
      'x-webhook-signature': `sha256=${signature}`,
      // Repeated as its sender does after a refusal: a node that takes over has no time for a moment.
      'x-webhook-id': randomUUID(),
    };
    return eventually(async () => {
      const response = await fetch(`${url}/api/triggers/webhook/${String(id)}`, {
        method: 'POST',
        headers,
        body,
      });
      const answer = await response.text();
      if (response.status === 503) return undefined;
      t.is(response.status, 202, answer);
      return (JSON.parse(answer) as { execution_id: string }).execution_id;
    });
  };
  const all = Array.from({ length: sessions }, (_, index) => index);
  const view = await ownerView(cluster.databaseUrl);
  t.teardown(() => view.end());
  const accepted = await Promise.all(all.map((user) => send(victim.url, user)));
  await victim.kill();
  const killedAtMs = performance.now();
  // As if its claims never ended: whoever waits for their end waits longer than this test.
  const { rows } = await view.query(
    `update trigger_inbox set due_at = clock_timestamp() + interval '1 day'
    where claimed_by like $1 and state = $2 returning 1`,
    [`member-${victim.name}-%`, 'running'],
  );
  tool.release();
  const later = await Promise.all(all.map((user) => send(other.url, user)));
  t.true(rows.length > 0, 'the killed node holds messages');
  await eventually(() => [...accepted, ...later].every((execution) => calledBack.has(execution)), {
    timeoutMs: 110_000,
    what: 'each message is called back',
  });
  t.log(`called back ${Math.round(performance.now() - killedAtMs)} ms after the kill`);
});
