// Measures the memory of a million idle actors, each called once, and sends the result to the parent.
import { volatileCounter } from '../../cluster/example/counter.js';
import { systemTime } from '../../cluster/time/system.js';
import type { Row } from './measure.js';
import { startLocalNode } from './nodes.js';

const count = 1_000_000;
const kind = volatileCounter(systemTime);
const node = await startLocalNode([kind], { residentsMax: 2 * count, idleMs: 3_600_000 });
const actors = node.references(kind);
globalThis.gc?.();
const before = process.memoryUsage();
for (let index = 0; index < count; index += 1) {
  await actors('bench', `actor-${index}`).add({ amount: 1 });
}
globalThis.gc?.();
const after = process.memoryUsage();
const residents = node.describe().residents;
const heap = (after.heapUsed - before.heapUsed) / residents;
const rss = (after.rss - before.rss) / residents;
const rows: Row[] = [
  { name: 'idle actors in memory', value: residents, unit: 'actors' },
  { name: 'heap of one idle actor', value: heap, unit: 'bytes', aim: 500, atMost: true },
  { name: 'a million idle actors', value: (rss * count) / 1e9, unit: 'GB RSS', aim: 1, atMost: true },
];
process.send?.(rows, () => process.exit(0));
