// Every tool over three nodes while one is killed, and many clients of several tenants at once.
import test from 'ava';
import type { Client } from '@modelcontextprotocol/client';
import { callEveryTool } from '../support/builders/every-tool.js';
import { registerAt } from '../support/builders/people.js';
import { toolRows } from '../support/builders/tool-table.js';
import { eras, type Era, mcpClient, structured } from '../support/clients/mcp.js';
import { eventually } from '../support/clocks/eventually.js';
import { mcpSurroundings } from '../support/servers/mcp-surroundings.js';
import { operatorToken } from '../support/servers/node.js';
import { type NodeProcesses, startNodes } from '../support/servers/nodes.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';

async function startRoomyNodes(t: Parameters<typeof startNodes>[0]): Promise<NodeProcesses> {
  const cluster = await startNodes(t);
  await giveRoom(cluster, cluster.bootstrap.tenant_id);
  return cluster;
}

async function giveRoom({ nodes }: NodeProcesses, tenant: string): Promise<void> {
  const answer = await nodes[0]?.client.call('PATCH', `/api/tenants/${tenant}/plan`, {
    token: operatorToken,
    body: { plan: 'enterprise' },
  });
  if (answer?.status !== 200) throw new Error(answer?.text);
}

test.serial('every tool answers in both generations of clients while a node is killed', async (t) => {
  t.timeout(600_000);
  const cluster = await startRoomyNodes(t);
  const [first, second, third] = cluster.nodes;
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('three nodes are needed');
  const { bootstrap, databaseUrl } = cluster;
  const key = bootstrap.api_key;
  const walk = async (era: Era, atStep?: (step: number) => Promise<void>): Promise<ReadonlySet<string>> => {
    const around = await mcpSurroundings(t, { client: first.client, bootstrap, databaseUrl });
    // Requests are independent: each goes to another node.
    const clients = await Promise.all([first, second].map(({ url }) => mcpClient(t, url, key, { era })));
    const called = new Set<string>();
    let step = 0;
    await callEveryTool(async (name, args) => {
      step += 1;
      await atStep?.(step);
      called.add(name);
      return structured(await answered(clients[step % clients.length], name, args));
    }, around);
    return called;
  };
  const names = toolRows.map(({ name }) => name).toSorted();
  const [legacy, modern] = eras;
  t.deepEqual(
    [...(await walk(legacy, async (step) => (step === 30 ? third.kill() : undefined)))].toSorted(),
    names,
  );
  t.deepEqual([...(await walk(modern))].toSorted(), names);
});

/** Repeats retryable refusals: actors of the killed node move to others meanwhile. */
async function answered(client: Client | undefined, name: string, args: Readonly<Record<string, unknown>>) {
  if (client === undefined) throw new Error('there is no client');
  return eventually(
    async () => {
      const result = await client.callTool({ name, arguments: { ...args } });
      if (result.isError !== true) return result;
      const { error, message } = structured(result);
      if (error === 'service_unavailable' || error === 'DELIVERY_FAILED') return undefined;
      throw new Error(`${name}: ${String(message)}`);
    },
    { timeoutMs: 60_000, what: `an answer of ${name}` },
  );
}

test.serial(
  'clients of several tenants get their own answers, whichever node answers and dies',
  async (t) => {
    t.timeout(300_000);
    const cluster = await startRoomyNodes(t);
    const tenants = await Promise.all(
      Array.from({ length: 4 }, (_, index) => newTenant(cluster, `tenant-${index}`)),
    );
    const alive = cluster.nodes.slice(0, 2);
    let isKilled = false;
    const work = tenants.flatMap(({ key, agent }) =>
      Array.from({ length: 5 }, async (_, index) => {
        const client = await mcpClient(t, alive[index % 2]?.url ?? '', key, { era: eras[index % 2] });
        // A whole round at least comes after the end of the node.
        for (let round = 0, wasKilled = false; round < 5 || !wasKilled; round += 1) {
          wasKilled = isKilled;
          const listed = structured(await answered(client, 'list_agents', {}));
          const names = (listed['data'] as { id: string }[]).map(({ id }) => id);
          if (names.length !== 1 || names[0] !== agent)
            throw new Error(`another tenant's agents: ${names.join(', ')}`);
        }
      }),
    );
    await cluster.nodes[2]?.kill();
    isKilled = true;
    await t.notThrowsAsync(Promise.all(work));
  },
);

test.serial(
  'the end of a turn is heard on another node, and a cancellation reaches the node of its call',
  async (t) => {
    t.timeout(300_000);
    const cluster = await startNodes(t, { count: 2 });
    const [first, second] = cluster.nodes;
    if (first === undefined || second === undefined) throw new Error('two nodes are needed');
    await giveRoom(cluster, cluster.bootstrap.tenant_id);
    const key = cluster.bootstrap.api_key;
    const [here, there] = await Promise.all([first, second].map(({ url }) => mcpClient(t, url, key)));
    const { agent, answerTool } = await waitingAgent(t, here);
    const updates: string[] = [];
    there?.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void updates.push(params.uri),
    );
    const headers = { 'mcp-session-id': 'a-client', 'mcp-protocol-version': '2025-11-25' };
    const post = async (url: string, message: object): Promise<string> => {
      const response = await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: {
          'x-api-key': key,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      });
      return response.text();
    };
    const chat = (id: number, more: object) =>
      post(first.url, {
        id,
        method: 'tools/call',
        params: { name: 'chat_with_agent', arguments: { agent_id: agent, message: 'please wait', ...more } },
      });
    const running = async (known: readonly string[]) =>
      eventually(async () => {
        const { data } = structured(await answered(there, 'list_executions', { agent_id: agent })) as {
          data: { id: string; session_id: string; outcome: string | null }[];
        };
        return data.find(({ id, outcome }) => outcome === null && !known.includes(id));
      });
    const whole = chat(1, {});
    const turn = await running([]);
    const uris = [`platform://sessions/${turn.session_id}`, `platform://executions/${turn.id}`];
    await there?.listen({ resourceSubscriptions: uris });
    await answerTool();
    await whole;
    await eventually(() => uris.every((uri) => updates.includes(uri)), { what: 'both updates' });
    const cancelled = chat(2, { session_id: turn.session_id });
    const next = await running([turn.id]);
    await post(second.url, { method: 'notifications/cancelled', params: { requestId: 2 } });
    await cancelled;
    const outcome = await eventually(async () => {
      const { data } = structured(await answered(there, 'get_execution', { execution_id: next.id })) as {
        data: { outcome: string | null };
      };
      return data.outcome;
    });
    t.is(outcome, 'CANCELLED');
  },
);

test.serial(
  'a turn is joined by its key on another node, and outlives the client that began it',
  async (t) => {
    t.timeout(300_000);
    const cluster = await startNodes(t, { count: 2 });
    const [first, second] = cluster.nodes;
    if (first === undefined || second === undefined) throw new Error('two nodes are needed');
    await giveRoom(cluster, cluster.bootstrap.tenant_id);
    const key = cluster.bootstrap.api_key;
    const [here, there] = await Promise.all([first, second].map(({ url }) => mcpClient(t, url, key)));
    if (here === undefined || there === undefined) throw new Error('there are two clients');
    const { agent, answerTool } = await waitingAgent(t, here);
    const request = {
      name: 'chat_with_agent',
      arguments: { agent_id: agent, message: 'please wait' },
      _meta: { idempotency_key: 'the one turn' },
    };
    const executions = async (): Promise<{ id: string; outcome: string | null }[]> =>
      structured(await answered(there, 'list_executions', { agent_id: agent }))['data'] as never;
    const left = new AbortController();
    const begun = here.callTool(request, { signal: left.signal });
    const gone = t.throwsAsync(begun);
    await eventually(async () => (await executions()).some(({ outcome }) => outcome === null));
    left.abort();
    await gone;
    await answerTool();
    const results = await Promise.all([there.callTool(request), here.callTool(request)]);
    const [joined, again] = results.map(structured);
    t.is(joined?.['outcome'], 'COMPLETED', JSON.stringify(joined));
    t.is(again?.['text'], joined?.['text']);
    t.is(again?.['execution_id'], joined?.['execution_id']);
    t.is((await executions()).length, 1);
  },
);

/** An agent whose turns go on when the test lets their tool answer, however slow the machine is. */
async function waitingAgent(
  t: Parameters<typeof startNodes>[0],
  client: Client | undefined,
): Promise<{ readonly agent: string; readonly answerTool: () => Promise<void> }> {
  const held: (() => void)[] = [];
  const tool = await startToolServer(t, (_request, response) => {
    held.push(() => answerJson(response, { waited: true }));
  });
  const made = await answered(client, 'create_agent', { name: 'waits', llm_config: { model: 'sim.tools' } });
  const { id } = structured(made)['data'] as { id: string };
  const api = { url: tool.url, auth: { type: 'none' } };
  await answered(client, 'create_api_tool', { agent_id: id, name: 'wait', editor_schema: { api } });
  await answered(client, 'publish_agent', { agent_id: id });
  return {
    agent: id,
    async answerTool() {
      await eventually(() => held.length > 0, { what: 'the tool is called' });
      for (const answer of held.splice(0)) answer();
    },
  };
}

async function newTenant(
  cluster: NodeProcesses,
  name: string,
): Promise<{ readonly key: string; readonly agent: string }> {
  const client = cluster.nodes[0]?.client;
  if (client === undefined) throw new Error('there is no node');
  const { token } = await registerAt(client);
  const { json: own } = await client.call('GET', '/api/tenants', { token });
  const tenant: string = own.data[0].id;
  await giveRoom(cluster, tenant);
  const body = { name: 'mcp', role: 'admin', rateLimitPerMinute: 1_000 };
  const { json: key } = await client.call('POST', '/api/keys', { token, tenant, body });
  const { json: agent } = await client.call('POST', '/api/agents', { token, tenant, body: { name } });
  return { key: key.data.api_key, agent: agent.data.id };
}
