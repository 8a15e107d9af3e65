import { durableActor } from '../../../cluster/activation/kind.js';
import type { ClusterConfig } from '../../../cluster/config.js';
import { ClusterError } from '../../../cluster/errors.js';
import { durableCounter } from '../../../cluster/example/counter.js';
import { GroupCommit } from '../../../cluster/fencing/group-commit.js';
import { addressText } from '../../../cluster/ids/ids.js';
import { CounterTables } from '../../../cluster/simulation/counter-tables.js';
import { MemoryFenceStore } from '../../../cluster/simulation/fence-store.js';
import { sleep } from '../../../cluster/time/time.js';
import { CounterServiceDefinition } from '../../../generated/troupe/examples/v1/counter.js';
import { SimulatedCluster, type SimulatedNode } from './simulated-cluster.js';

/** Nodes with the durable counter, and with a kind whose long turns stamp their row. */
export class MovingCluster extends SimulatedCluster {
  readonly tables = new CounterTables();
  storeMs = 1;
  readonly store = new MemoryFenceStore(this.tables, this.time, {
    delayMs: () => this.storeMs,
    fault: () => 'none',
  });
  readonly log: string[] = [];
  /** The process of each slow actor that was activated. */
  readonly made: string[] = [];
  readonly kinds = new Map<SimulatedNode, ReturnType<MovingCluster['durable']>>();

  durable(time = this.time as Parameters<typeof durableCounter>[1], turnMs = 2_000) {
    const commits = new GroupCommit(this.store, this.config, time, this.random);
    return {
      counter: durableCounter(commits, time),
      slow: durableActor({
        service: CounterServiceDefinition,
        name: 'test.Slow',
        methods: { add: { idempotent: true }, where: { lane: 'control', idempotent: true } },
        commits,
        load: (address) => ({ counter: addressText(address) }),
        create: (activation) => {
          const { process } = activation;
          this.made.push(process);
          return {
            add: async ({ amount }: { amount: number }) => {
              await activation.stamp({ set: 'busy', process, forMs: 10_000 });
              this.log.push(`begin ${amount} at ${process}`);
              await sleep(time, turnMs);
              if (amount < 0)
                throw new ClusterError('write_rejected', 'this turn ends without its last write');
              const write = { counter: addressText(activation.address), requestId: `${amount}`, sum: amount };
              await activation.write(write, { stamp: { set: 'free' } });
              this.log.push(`end ${amount} at ${process}`);
              return { sum: amount };
            },
            read: () => ({ sum: activation.loaded.sum }),
            where: () => ({ process }),
            async *count() {},
          };
        },
      }),
    };
  }

  async addNode(name: string): Promise<SimulatedNode> {
    const host = this.host(name);
    const kinds = this.durable(host.time);
    const node = await this.add(host, [kinds.counter, kinds.slow]);
    this.kinds.set(node, kinds);
    return node;
  }

  slow(from: SimulatedNode, key: string) {
    const kinds = this.kinds.get(from);
    if (kinds === undefined) throw new Error('the node has no kinds');
    return from.node.actor(kinds.slow, 'acme', key);
  }

  counter(from: SimulatedNode, key: string) {
    const kinds = this.kinds.get(from);
    if (kinds === undefined) throw new Error('the node has no kinds');
    return from.node.actor(kinds.counter, 'acme', key);
  }

  /** A key that `before` owns now and `after` owns once `leaving` has left. */
  keyThatMoves(before: SimulatedNode): string {
    const kinds = this.kinds.get(before);
    if (kinds === undefined) throw new Error('the node has no kinds');
    for (let index = 0; index < 1_000; index += 1) {
      if (before.node.owns(before.node.slotOf(kinds.slow, 'acme', `m${index}`))) return `m${index}`;
    }
    throw new Error('no key moves from that node');
  }
}

/** Two members, and a key that the first owns. */
export async function moving(changes: Partial<ClusterConfig> = {}) {
  const cluster = new MovingCluster(changes);
  const one = await cluster.addNode('n1');
  const two = await cluster.addNode('n2');
  await cluster.join();
  return { cluster, one, two, key: cluster.keyThatMoves(one) };
}
