import { clusterConfig, type ClusterConfig } from '../../../cluster/config.js';
import type { Kind } from '../../../cluster/activation/kind.js';
import { processId } from '../../../cluster/ids/ids.js';
import type { Member } from '../../../cluster/membership/membership.js';
import { ClusterNode } from '../../../cluster/node/node.js';
import { SimulatedHost } from '../../../cluster/simulation/host.js';
import { SimulatedNetwork } from '../../../cluster/simulation/network.js';
import { ScriptedMembers, type ScriptedMembership } from '../../../cluster/simulation/scripted-membership.js';
import { sharedRings } from '../../../cluster/simulation/shared-rings.js';
import { SeededRandom, VirtualTime } from '../../../cluster/simulation/virtual-time.js';

export interface SimulatedNode {
  readonly node: ClusterNode;
  readonly host: SimulatedHost;
  readonly membership: ScriptedMembership;
  readonly member: Member;
}

const buildRing = sharedRings();

/** Nodes over a simulated network whose views the test sets by hand. */
export class SimulatedCluster {
  readonly time = new VirtualTime();
  readonly random = new SeededRandom(7);
  readonly network = new SimulatedNetwork(this.time, this.random);
  readonly members = new ScriptedMembers();
  readonly nodes: SimulatedNode[] = [];
  readonly config: ClusterConfig;

  constructor(changes: Partial<ClusterConfig> = {}) {
    this.config = clusterConfig(changes);
  }

  host(name: string): SimulatedHost {
    return new SimulatedHost(this.time, name);
  }

  async add(
    host: SimulatedHost,
    kinds: readonly Kind[],
    options: { secret?: string; onLeaveAsked?: () => void } = {},
  ): Promise<SimulatedNode> {
    const { address } = await this.network.transport(host).listen(() => {});
    const member: Member = {
      process: processId(host.name),
      address: address.replace(/\d+$/, (port) => String(Number(port) + 1)),
      weight: 1,
      roles: ['worker', 'edge'],
      host: host.name,
      pid: 1,
    };
    const membership = this.members.join(member);
    const node = new ClusterNode({
      kinds,
      membership,
      transport: this.network.transport(host),
      link: { cluster: 'test', secret: options.secret ?? 'secret' },
      config: this.config,
      time: host.time,
      random: this.random,
      buildRing,
      ...(options.onLeaveAsked === undefined ? {} : { onLeaveAsked: options.onLeaveAsked }),
    });
    await node.listen();
    const added = { node, host, membership, member };
    this.nodes.push(added);
    await node.start(new AbortController().signal);
    return added;
  }

  /** All nodes so far are members, and have opened their links. */
  async join(): Promise<void> {
    this.members.publish(this.nodes.map(({ member }) => member.process));
    await this.time.advance(200);
  }

  /** Waits for a promise while the clock moves; fails when it takes longer than the bound. */
  async settle<Value>(promise: Promise<Value>, boundMs = 60_000): Promise<Value> {
    let isSettled = false;
    const done = promise.finally(() => {
      isSettled = true;
    });
    // The failure is given to the caller below.
    done.catch(() => undefined);
    await this.time.until(() => isSettled, boundMs);
    return done;
  }
}
