import test from 'ava';
import type { ClusterConfig } from '../../cluster/config.js';
import type { QueueName } from '../../cluster/measures/queues.js';
import type { Fault } from './faults.js';
import { run, type Verdict } from './run.js';

const burst = 40;

/** Bounds that bursts reach, each alone, with the faults that fill its queue. */
const tight: readonly {
  readonly queue: QueueName;
  readonly bounds: Partial<ClusterConfig>;
  readonly faults?: readonly Fault[];
}[] = [
  // Its bound is that of all its forms of calls together, which one burst must exceed.
  { queue: 'mailbox', bounds: { mailboxCountMax: 3, streamCountMax: 12 } },
  { queue: 'node_mailboxes', bounds: { nodeQueueMax: 8 } },
  { queue: 'loads', bounds: { activationsMax: 1, activationQueueMax: 1 } },
  { queue: 'link_calls', bounds: { linkCallsMax: 4 } },
  {
    queue: 'calls_without_owner',
    bounds: { nodeQueueMax: 12 },
    faults: [{ atMs: 1_000, kind: 'vanish', node: 0 }],
  },
  { queue: 'timers', bounds: { timersMax: 2 } },
  { queue: 'repeated_work', bounds: { recoveryBatch: 1 }, faults: [{ atMs: 1_000, kind: 'poison' }] },
];

const found = (verdict: Verdict, queue: QueueName): readonly string[] =>
  verdict.violations.filter((text) => text.includes(`the queue ${queue} of`));

for (const { queue, bounds, faults = [] } of tight) {
  const names = Object.entries(bounds).map(([name, value]) => `${name} ${value}`);
  test(`the queue ${queue} stays below ${names.join(', ')}`, async (t) => {
    t.timeout(600_000);
    const options = { seed: 3, nodes: 3, edges: 0, faults };
    const kept = await run({ ...options, queues: { bounds, burst } });
    t.deepEqual(
      kept.violations.filter((text) => text.includes('the queue')),
      [],
    );
    // The checker is red if the runtime does not observe the bound.
    const ignored = Object.keys(bounds) as (keyof ClusterConfig)[];
    const planted = await run({
      ...options,
      plants: ['bound_ignored'],
      queues: { bounds, burst, ignored },
    });
    t.not(found(planted, queue).length, 0, JSON.stringify(planted.queues[queue]));
    t.log(JSON.stringify(kept.queues[queue]), JSON.stringify(planted.queues[queue]));
  });
}
