import { startDatabase } from '../support/database.js';
import { durableCounterOver } from './counters.js';
import { p50Of, percentile, type Row } from './measure.js';
import { startLocalNode } from './nodes.js';

const actors = 1_500;

/** The first call of an actor that is not in memory: one transaction raises its epoch and reads its state. */
export async function coldActivation(): Promise<Row[]> {
  const database = await startDatabase();
  const { counter, close } = durableCounterOver(database.url);
  const write = await startLocalNode([counter]);
  for (let at = 0; at < actors; at += 50) {
    const keys = Array.from({ length: 50 }, (_, index) => `a${at + index}`);
    await Promise.all(keys.map((key) => write.actor(counter, 'bench', key).add({ amount: 1 })));
  }
  await write.stop();
  // A new node, which has none of the actors in memory.
  const node = await startLocalNode([counter]);
  let next = 0;
  const cold = (): Promise<unknown> => {
    next += 1;
    return node.actor(counter, 'bench', `a${next - 1}`).read({});
  };
  await p50Of(200, cold);
  const taken: number[] = [];
  for (let index = 0; index < 500; index += 1) {
    const startedAt = performance.now();
    await cold();
    taken.push(performance.now() - startedAt);
  }
  const startedAt = performance.now();
  const rest = actors - next;
  await Promise.all(Array.from({ length: rest }, cold));
  const perSecond = (rest * 1_000) / (performance.now() - startedAt);
  const warm = await p50Of(500, () => node.actor(counter, 'bench', 'a0').read({}));
  await node.stop();
  await close();
  await database.stop();
  return [
    {
      name: 'cold activation with one PostgreSQL read, p50 one by one',
      value: percentile(taken, 0.5),
      unit: 'ms',
      aim: 2,
      atMost: true,
    },
    { name: 'the same, p99', value: percentile(taken, 0.99), unit: 'ms' },
    { name: `cold activations, ${rest} at once`, value: perSecond, unit: 'actors/s' },
    { name: 'the same call when the actor is in memory, p50', value: warm * 1_000, unit: 'us' },
  ];
}
