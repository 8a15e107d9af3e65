// Faults of one of several nodes, and their repair.
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../test/support/clocks/eventually.js';
import type { NodeProcess, NodeProcesses } from '../../test/support/servers/nodes.js';

export type Fault = 'kill' | 'freeze';

export const frozenMs = 10_000;
const nodesCount = 3;

export async function strike(victim: NodeProcess, fault: Fault, alive: Set<NodeProcess>): Promise<void> {
  if (fault === 'kill') {
    alive.delete(victim);
    await victim.kill();
    return;
  }
  victim.program.process.kill('SIGSTOP');
  // Its callers notice after a while, as a load balancer does.
  await sleep(2_000);
  alive.delete(victim);
  await sleep(frozenMs - 2_000);
  victim.program.process.kill('SIGCONT');
  // It finds its lease lost and ends by itself.
  await Promise.race([victim.program.ended, sleep(30_000)]);
  await victim.kill();
}

/** Also nodes that lost their lease for want of CPU. */
export async function replaceLost(cluster: NodeProcesses, alive: Set<NodeProcess>): Promise<void> {
  for (;;) {
    for (const node of alive) if (hasEnded(node)) alive.delete(node);
    if (alive.size === nodesCount) return;
    alive.add(await cluster.add());
    const isWhole = async (): Promise<boolean> => {
      const nodes = [...alive].filter((node) => !hasEnded(node));
      if (nodes.length < alive.size) return true;
      const views = await Promise.all(nodes.map((node) => cluster.cluster(node).catch(() => undefined)));
      return views.every((view) => view?.nodes.length === alive.size);
    };
    await eventually(isWhole, { timeoutMs: 180_000, everyMs: 250, what: 'all nodes are in one view' });
  }
}

function hasEnded({ program: { process: one } }: NodeProcess): boolean {
  return one.exitCode !== null || one.signalCode !== null;
}
