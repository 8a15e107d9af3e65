import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { publishAgent } from '../support/builders/published-agents.js';
import { startHeldTool } from '../support/servers/held-tool.js';
import { type NodeProcesses, startNodes } from '../support/servers/nodes.js';
import { readServed, type TurnReading } from '../support/clients/turn-reader.js';

const turns = 200;
/** Of them so many do not end before the nodes have died; some of their readers are at one that dies. */
const heldTurns = 10;

async function stored(cluster: NodeProcesses, url: string, { sessionId }: TurnReading): Promise<string[]> {
  const response = await fetch(`${url}/api/v1/sessions/${sessionId}/messages`, {
    headers: { 'x-api-key': cluster.bootstrap.api_key },
  });
  const { data } = (await response.json()) as { data: { role: string; content: string }[] };
  return data.filter(({ role }) => role === 'assistant').map(({ content }) => content);
}

test.serial('each turn ends once with the same text for every reader although nodes die', async (t) => {
  t.timeout(600_000);
  const cluster = await startNodes(t);
  const { bootstrap } = cluster;
  const [first] = cluster.nodes;
  if (first === undefined) throw new Error('there is no node');
  const agentId = await publishAgent(first.client, bootstrap, { model: 'sim.lorem-40-100' });
  const tool = await startHeldTool(t);
  const heldAgentId = await publishAgent(first.client, bootstrap, tool.agent);
  const alive = new Set(cluster.nodes);
  const urls = (): string[] => [...alive].map(({ url }) => url);
  let begun = 0;
  const reading = Promise.all(
    Array.from({ length: turns }, (_, index) =>
      readServed({
        urls,
        key: bootstrap.api_key,
        agentId: index < heldTurns ? heldAgentId : agentId,
        body: { message: `please wait, words for ${index}` },
        onEvent: ({ type }) => {
          if (type === 'metadata') begun += 1;
        },
      }),
    ),
  );
  await eventually(() => begun >= turns, { timeoutMs: 120_000, what: 'all turns have begun' });
  for (const node of cluster.nodes.slice(1)) {
    alive.delete(node);
    await node.kill();
    const added = await cluster.add();
    alive.add(added);
    await cluster.awaitMembers(added, 3);
  }
  tool.release();
  const readings = await reading;
  t.deepEqual(
    readings.filter(({ outcomes }) => outcomes.length !== 1 || outcomes[0] !== 'COMPLETED'),
    [],
  );
  t.true(
    readings.slice(0, heldTurns).some(({ cuts }) => cuts > 0),
    'some connections were lost',
  );
  for (const one of readings) {
    t.is(one.text, one.response ?? 'none');
    t.deepEqual(await stored(cluster, urls()[0] ?? '', one), [one.response ?? '']);
  }
});
