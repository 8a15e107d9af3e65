import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { type NodeProcesses, startNodes } from '../support/servers/nodes.js';
import { type ReadOptions, readTurn, RefusedTurn, type TurnReading } from '../support/clients/turn-reader.js';

const turns = 200;

async function talkativeAgent({ nodes, bootstrap }: NodeProcesses, model: string): Promise<string> {
  const [node] = nodes;
  const call = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const body = { name: `talks-${model.replaceAll('.', '-')}`, llm_config: { model } };
  const made = await node?.client.call('POST', '/api/agents', { ...call, body });
  const id = String(made?.json.data.id);
  await node?.client.call('POST', `/api/agents/${id}/publish`, { ...call, body: {} });
  return id;
}

async function stored(cluster: NodeProcesses, url: string, { sessionId }: TurnReading): Promise<string[]> {
  const response = await fetch(`${url}/api/v1/sessions/${sessionId}/messages`, {
    headers: { 'x-api-key': cluster.bootstrap.api_key },
  });
  const { data } = (await response.json()) as { data: { role: string; content: string }[] };
  return data.filter(({ role }) => role === 'assistant').map(({ content }) => content);
}

/** All begin at once: a node that lacks a core or a store refuses some with 503 before they start. */
async function readServed(options: ReadOptions): Promise<TurnReading> {
  for (;;) {
    const reading = await readTurn(options).catch(async (error: unknown) => {
      if (!(error instanceof RefusedTurn && error.status === 503)) throw error;
      await delay(1_000 * Number(error.headers.get('retry-after') ?? 1));
      return undefined;
    });
    if (reading !== undefined) return reading;
  }
}

test.serial('each turn ends once with the same text for every reader although nodes die', async (t) => {
  t.timeout(600_000);
  const cluster = await startNodes(t);
  const { bootstrap } = cluster;
  const agentId = await talkativeAgent(cluster, 'sim.lorem-40-100');
  const alive = new Set(cluster.nodes);
  const urls = (): string[] => [...alive].map(({ url }) => url);
  let begun = 0;
  const reading = Promise.all(
    Array.from({ length: turns }, (_, index) =>
      readServed({
        urls,
        key: bootstrap.api_key,
        agentId,
        body: { message: `words for ${index}` },
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
  const readings = await reading;
  t.deepEqual(
    readings.filter(({ outcomes }) => outcomes.length !== 1 || outcomes[0] !== 'COMPLETED'),
    [],
  );
  t.true(
    readings.some(({ cuts }) => cuts > 0),
    'some connections were lost',
  );
  for (const one of readings) {
    t.is(one.text, one.response ?? 'none');
    t.deepEqual(await stored(cluster, urls()[0] ?? '', one), [one.response ?? '']);
  }
});
