import { Agent, request } from 'node:http';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { type NodeProcess, startNodes } from '../support/servers/nodes.js';
import { publishAgent } from '../support/builders/published-agents.js';
import { readTurn } from '../support/clients/turn-reader.js';

/** A client whose connection stays open between its requests, as that of a load balancer does. */
function keptConnection({ url }: NodeProcess, key: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send = (method: string, path: string, body?: object): Promise<Readable> =>
    new Promise((resolve, reject) => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' };
      request(`${url}${path}`, { agent, method, headers }, resolve)
        .on('error', reject)
        .end(body === undefined ? undefined : JSON.stringify(body));
    });
  return { send, close: () => agent.destroy() };
}

test.serial('turns that begin while a node drains wait neither for it nor hold it', async (t) => {
  t.timeout(300_000);
  const cluster = await startNodes(t, { count: 2 });
  const { bootstrap } = cluster;
  const [leaver, other] = cluster.nodes;
  if (leaver === undefined || other === undefined) throw new Error('there are no two nodes');
  const slow = await publishAgent(leaver.client, bootstrap, { model: 'sim.lorem-60-250' });
  const quick = await publishAgent(leaver.client, bootstrap, { model: 'sim.lorem-4-1' });
  const asked = { key: bootstrap.api_key, body: { message: 'words' } };
  const connection = keptConnection(leaver, bootstrap.api_key);
  t.teardown(() => connection.close());
  await text(await connection.send('GET', '/health/live'));
  let hasBegun = false;
  let hasEnded = false;
  const long = readTurn({
    ...asked,
    urls: () => [leaver.url],
    agentId: slow,
    onEvent: ({ type }) => {
      hasBegun ||= type === 'delta';
    },
  }).finally(() => (hasEnded = true));
  // Heard of below, where it is awaited.
  long.catch(() => undefined);
  await eventually(() => hasBegun, { timeoutMs: 60_000, what: 'the long turn has begun' });
  const stopped = leaver.stop();
  await cluster.awaitMembers(other, 1);
  const atLeaver = connection
    .send('POST', `/api/v2/agents/${quick}/stream`, asked.body)
    .then((stream) => text(stream))
    .catch(String);
  const atOther = await readTurn({ ...asked, urls: () => [other.url], agentId: quick });
  t.deepEqual(atOther.outcomes, ['COMPLETED']);
  t.false(hasEnded, 'a turn of the other node ends while the leaving one still works');
  t.regex(await atLeaver, /"outcome":"COMPLETED"/);
  t.false(hasEnded, 'a turn that was sent to the leaving node ends there as well');
  const { outcomes, cuts } = await long;
  t.deepEqual({ outcomes, cuts }, { outcomes: ['COMPLETED'], cuts: 0 });
  t.is(await stopped, 0, leaver.program.output());
});
