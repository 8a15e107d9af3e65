import { createClient, type TurnEvent } from '@troupe/client';
import test from 'ava';
import { publishAgent } from '../../support/builders/published-agents.js';
import { type Cut, CuttingProxy } from '../../support/servers/cutting-proxy.js';
import type { TenantNode } from '../../support/servers/node.js';
import { sharedNode } from '../../support/servers/shared-node.js';

const shared = sharedNode(test);

/** No wait of the client takes real time, except its limits. */
const hurried = {
  after: (milliseconds: number, call: () => void) => {
    const timer = setTimeout(call, milliseconds >= 30_000 ? milliseconds : milliseconds / 50);
    return () => clearTimeout(timer);
  },
};

async function agentOf({ client, bootstrap }: TenantNode, model: string): Promise<string> {
  return publishAgent(client, bootstrap, { model });
}

/** A client whose connections are cut where `cutOf` says. */
async function cutClient(
  t: { teardown(fn: () => Promise<void>): void },
  { client: { baseUrl }, bootstrap }: TenantNode,
  cutOf: (connection: number) => Cut | undefined,
) {
  const proxy = await CuttingProxy.before(baseUrl, cutOf);
  t.teardown(() => proxy.close());
  return { proxy, client: createClient({ baseUrl: proxy.url, apiKey: bootstrap.api_key }, hurried) };
}

async function eventsOf(turn: AsyncIterable<TurnEvent>, proxy?: CuttingProxy): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of turn) {
    events.push(event);
    proxy?.cut();
  }
  return events;
}

test('a turn cut after every event is read whole: nothing lost, nothing twice', async (t) => {
  const node = await shared.tenant(t);
  const agentId = await agentOf(node, 'sim.lorem-8-5');
  const { client, proxy } = await cutClient(t, node, () => ({ events: 1 }));
  const turn = client.agents.chat(agentId, 'words');
  const events = await eventsOf(turn, proxy);
  t.true(proxy.connections > 8, `${proxy.connections} connections`);
  const direct = createClient({ baseUrl: node.client.baseUrl, apiKey: node.bootstrap.api_key });
  t.deepEqual(events, await eventsOf(direct.executions.follow(turn.executionId ?? '')));
  t.is(events.at(0)?.type, 'metadata');
  t.is(events.at(-1)?.type, 'done');
  const pieces = events.flatMap((event) => (event.type === 'delta' ? [event.content] : []));
  t.is(pieces.join(''), turn.text);
});

test('a turn cut inside every event is read whole', async (t) => {
  const node = await shared.tenant(t);
  const agentId = await agentOf(node, 'sim.lorem-8-5');
  const { client, proxy } = await cutClient(t, node, (connection) => ({ events: 1, bytes: connection * 7 }));
  const turn = client.agents.chat(agentId, 'words');
  const events = await eventsOf(turn, proxy);
  const direct = createClient({ baseUrl: node.client.baseUrl, apiKey: node.bootstrap.api_key });
  t.deepEqual(events, await eventsOf(direct.executions.follow(turn.executionId ?? '')));
});

test('a message whose answer is lost before its first byte runs once', async (t) => {
  const node = await shared.tenant(t);
  const agentId = await agentOf(node, 'sim.echo');
  const { client, proxy } = await cutClient(t, node, (connection) =>
    connection <= 2 ? { events: 0 } : undefined,
  );
  const result = await client.agents.chat(agentId, { message: 'once' }).result();
  t.is(result.text, 'echo: once');
  t.is(result.outcome, 'COMPLETED');
  t.is(proxy.connections, 3);
  const direct = createClient({ baseUrl: node.client.baseUrl, apiKey: node.bootstrap.api_key });
  const executions = await direct.executions.list({ query: { agent_id: agentId } });
  t.deepEqual(
    executions.data.map(({ id }) => id),
    [result.executionId],
  );
});
