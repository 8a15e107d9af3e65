import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { startNodes } from '../support/servers/nodes.js';
import { publishAgent } from '../support/builders/published-agents.js';
import { readServed, type TurnReading } from '../support/clients/turn-reader.js';

/** A number that two slow cores carry; more of them where there are more: `TROUPE_TEST_STREAMS=200`. */
const streams = Number(process.env['TROUPE_TEST_STREAMS'] ?? 60);

test.serial('a rolling restart of every node under live streams fails no turn', async (t) => {
  t.timeout(900_000);
  const cluster = await startNodes(t);
  const { bootstrap } = cluster;
  const first = cluster.nodes[0];
  if (first === undefined) throw new Error('there is no node');
  // About ten seconds long: each restart meets turns in all of their stages.
  const agentId = await publishAgent(first.client, bootstrap, { model: 'sim.lorem-40-250' });
  // Like a load balancer: a node that is about to stop gets no new requests.
  const open = new Set(cluster.nodes);
  const readings: TurnReading[] = [];
  const restarted = new AbortController();
  const stops: number[] = [];
  let begun = 0;
  let refused = 0;
  const talk = async (name: number): Promise<void> => {
    while (!restarted.signal.aborted) {
      const reading = await readServed({
        urls: () => [...open].map(({ url }) => url),
        key: bootstrap.api_key,
        agentId,
        body: { message: `words for ${name}` },
        onEvent: ({ type }) => {
          if (type === 'metadata') begun += 1;
        },
        onRefused: () => (refused += 1),
      });
      readings.push(reading);
    }
  };
  const talking = Promise.all(Array.from({ length: streams }, (_, name) => talk(name)));
  // Heard of below, where it is awaited; until then a failure must not end the process.
  talking.catch(() => restarted.abort());
  await eventually(() => begun >= streams || restarted.signal.aborted, {
    timeoutMs: 120_000,
    what: 'all have begun',
  });
  for (const node of cluster.nodes.slice(0, 3)) {
    const added = await cluster.add();
    await cluster.awaitMembers(added, 4);
    open.delete(node);
    const stoppingAtMs = performance.now();
    t.is(await node.stop(), 0, node.program.output().slice(-2_000));
    stops.push(Math.round(performance.now() - stoppingAtMs));
    // What makes a stop longer than the time of its turns, which a supervisor does not wait for.
    for (const late of ['something held the process', 'a part did not close cleanly'])
      t.false(node.program.output().includes(late), node.program.output().slice(-2_000));
    open.add(added);
    await cluster.awaitMembers(added, 3);
  }
  restarted.abort();
  await talking;
  const failed = readings.filter(({ outcomes }) => outcomes.join() !== 'COMPLETED');
  t.log(
    `${readings.length} turns, ${refused} refused for want of room, ${readings.filter(({ cuts }) => cuts > 0).length} of them over several nodes; stopped within ${stops.join(', ')} ms`,
  );
  t.deepEqual(failed, []);
  for (const { text, response } of readings) t.is(text, response ?? 'none');
});
