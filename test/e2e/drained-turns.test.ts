// Starts nodes of its own: the test is about their ends.
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { ownerView } from '../support/database/owner-view.js';
import { publishAgent } from '../support/builders/published-agents.js';
import { startHeldTool } from '../support/servers/held-tool.js';
import { startTestNode } from '../support/servers/node.js';

test('a turn outlasts more nodes that stop in order than may be lost during it', async (t) => {
  t.timeout(300_000);
  let node = await startTestNode(t);
  const tool = await startHeldTool(t);
  const agentId = await publishAgent(node.client, node.bootstrap, tool.agent);
  const owner = await ownerView(node.databaseUrl);
  t.teardown(() => owner.end());
  const begun = await fetch(`${node.node.baseUrl}/api/v2/agents/${agentId}/stream`, {
    method: 'POST',
    headers: { 'x-api-key': node.bootstrap.api_key, 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'please wait' }),
  });
  const stopped = begun.text().catch(() => 'cut');
  const row = async () => {
    const { rows } = await owner.query<{ attempts: number; outcome: string | null }>(
      'select attempts, outcome from executions where agent_id = $1',
      [agentId],
    );
    return rows[0];
  };
  for (let start = 1; start <= 4; start += 1) {
    await eventually(async () => (await row())?.attempts === start, {
      timeoutMs: 30_000,
      what: `start ${start} of the turn`,
    });
    // The turn, which its tool holds, is cut off.
    await node.node.stop(AbortSignal.timeout(200));
    await stopped;
    node = await startTestNode(t, { databaseUrl: node.databaseUrl, dataDir: node.dataDir });
  }
  tool.release();
  const outcome = await eventually(async () => (await row())?.outcome ?? undefined, {
    timeoutMs: 60_000,
    what: 'the turn has ended',
  });
  t.is(outcome, 'COMPLETED');
});
