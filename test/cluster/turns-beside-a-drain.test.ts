import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { startHeldTool } from '../support/servers/held-tool.js';
import { type NodeProcess, patientParts, startNodes } from '../support/servers/nodes.js';
import { publishAgent } from '../support/builders/published-agents.js';
import { readServed } from '../support/clients/turn-reader.js';

/** A client whose connection stays open between its requests, as that of a load balancer does. */
function keptConnection({ url }: NodeProcess, key: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const once = (method: string, path: string, body?: object): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' };
      request(`${url}${path}`, { agent, method, headers }, resolve)
        .on('error', reject)
        .end(body === undefined ? undefined : JSON.stringify(body));
    });
  /** A node that a busy machine has made late refuses for a moment. */
  const send = async (...asked: Parameters<typeof once>): Promise<string> => {
    for (;;) {
      const answer = await once(...asked);
      const answered = await text(answer);
      if (answer.statusCode !== 503) return answered;
      await delay(1_000 * Number(answer.headers['retry-after']));
    }
  };
  return { send, close: () => agent.destroy() };
}

test.serial('turns that begin while a node drains wait neither for it nor hold it', async (t) => {
  t.timeout(400_000);
  // The long turn lasts until both short ones have ended, and may not be cut off before.
  const parts = { ...patientParts, drainMsMax: 200_000 };
  const cluster = await startNodes(t, { count: 2, parts });
  const { bootstrap } = cluster;
  const [leaver, other] = cluster.nodes;
  if (leaver === undefined || other === undefined) throw new Error('there are no two nodes');
  const tool = await startHeldTool(t);
  const slow = await publishAgent(leaver.client, bootstrap, tool.agent);
  const quick = await publishAgent(leaver.client, bootstrap, { model: 'sim.lorem-4-1' });
  const asked = { key: bootstrap.api_key, body: { message: 'please wait' } };
  const connection = keptConnection(leaver, bootstrap.api_key);
  t.teardown(() => connection.close());
  await connection.send('GET', '/health/live');
  let hasEnded = false;
  const long = readServed({ ...asked, urls: () => [leaver.url], agentId: slow }).finally(
    () => (hasEnded = true),
  );
  // Heard of below, where it is awaited.
  long.catch(() => undefined);
  await eventually(() => tool.heard.length === 1, { timeoutMs: 60_000, what: 'the long turn has begun' });
  const stopped = leaver.stop();
  await cluster.awaitMembers(other, 1);
  const atLeaver = connection.send('POST', `/api/v2/agents/${quick}/stream`, asked.body).catch(String);
  const atOther = await readServed({ ...asked, urls: () => [other.url], agentId: quick });
  t.deepEqual(atOther.outcomes, ['COMPLETED']);
  t.false(hasEnded, 'a turn of the other node ends while the leaving one still works');
  t.regex(await atLeaver, /"outcome":"COMPLETED"/);
  t.false(hasEnded, 'a turn that was sent to the leaving node ends there as well');
  tool.release();
  const { outcomes, cuts } = await long;
  t.deepEqual({ outcomes, cuts }, { outcomes: ['COMPLETED'], cuts: 0 });
  t.is(tool.heard.length, 1, 'the long turn was not begun again elsewhere');
  t.is(await stopped, 0, leaver.program.output());
});
