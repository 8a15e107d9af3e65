import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { startHeldTool } from '../support/servers/held-tool.js';
import { type NodeProcess, type NodeProcesses, patientParts, startNodes } from '../support/servers/nodes.js';
import { publishAgent } from '../support/builders/published-agents.js';
import { readServed } from '../support/clients/turn-reader.js';

/** A node that leaves answers once more on each connection that it has, and takes no others. */
const connectionsMax = 5;
/** A node closes a connection after ten seconds without a request. */
const idleMsMax = 8_000;
const attemptsMax = 4;

/** A client with connections that stay open between its requests, as those of a load balancer do. */
function keptConnections({ url }: NodeProcess, key: string) {
  const agents = Array.from({ length: connectionsMax }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const send = (agent: Agent, method: string, path: string, body = ''): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      request(`${url}${path}`, { agent, method, headers }, resolve).on('error', reject).end(body);
    });
  return {
    open: () => Promise.all(agents.map(async (agent) => text(await send(agent, 'GET', '/health/live')))),
    /** One that a busy machine has made late refuses for the moment. */
    async post(path: string, body: object): Promise<string> {
      for (const agent of agents) {
        const answer = await send(agent, 'POST', path, JSON.stringify(body));
        const answered = await text(answer);
        if (answer.statusCode !== 503) return answered;
      }
      throw new Error(`${url} refused ${agents.length} times`);
    },
    close: () => agents.forEach((agent) => agent.destroy()),
  };
}

/** False if the machine was so slow that the leaving node had closed its idle connections. */
async function drainOnce(t: ExecutionContext, cluster: NodeProcesses, leaver: NodeProcess): Promise<boolean> {
  const { bootstrap } = cluster;
  const [other] = cluster.nodes;
  if (other === undefined) throw new Error('there is no other node');
  const tool = await startHeldTool(t);
  const slow = await publishAgent(other.client, bootstrap, tool.agent);
  const quick = await publishAgent(other.client, bootstrap, { model: 'sim.lorem-4-1' });
  const asked = { key: bootstrap.api_key, body: { message: 'please wait' } };
  let hasEnded = false;
  const long = readServed({ ...asked, urls: () => [leaver.url], agentId: slow }).finally(
    () => (hasEnded = true),
  );
  // Heard of below, where it is awaited.
  long.catch(() => undefined);
  await eventually(() => tool.heard.length === 1, { timeoutMs: 60_000, what: 'the long turn has begun' });
  const connections = keptConnections(leaver, bootstrap.api_key);
  t.teardown(() => connections.close());
  await connections.open();
  const openedMs = performance.now();
  const stopped = leaver.stop();
  await cluster.awaitMembers(other, 1);
  const idleMs = performance.now() - openedMs;
  const atLeaver = connections.post(`/api/v2/agents/${quick}/stream`, asked.body).catch(String);
  const atOther = await readServed({ ...asked, urls: () => [other.url], agentId: quick });
  t.deepEqual(atOther.outcomes, ['COMPLETED']);
  t.false(hasEnded, 'a turn of the other node ends while the leaving one still works');
  const answered = await atLeaver;
  const isInTime = idleMs < idleMsMax || answered.includes('"outcome"');
  if (isInTime) t.regex(answered, /"outcome":"COMPLETED"/);
  t.false(hasEnded, 'a turn that was sent to the leaving node ends there as well');
  tool.release();
  const { outcomes, cuts } = await long;
  t.deepEqual({ outcomes, cuts }, { outcomes: ['COMPLETED'], cuts: 0 });
  t.is(tool.heard.length, 1, 'the long turn was not begun again elsewhere');
  t.is(await stopped, 0, leaver.program.output());
  return isInTime;
}

test.serial('turns that begin while a node drains wait neither for it nor hold it', async (t) => {
  t.timeout(900_000);
  // The long turn lasts until both short ones have ended, and may not be cut off before.
  const parts = { ...patientParts, drainMsMax: 200_000 };
  const cluster = await startNodes(t, { count: 1, parts });
  for (let attempt = 1; ; attempt += 1) {
    const leaver = await cluster.add();
    await cluster.awaitMembers(leaver, 2);
    if (await drainOnce(t, cluster, leaver)) return;
    if (attempt === attemptsMax) return t.fail('the machine is too slow for any connection to stay open');
    t.log(`attempt ${attempt}: the leaving node had closed its idle connections`);
  }
});
