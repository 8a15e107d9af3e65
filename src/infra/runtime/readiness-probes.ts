import type { ClusterNode, Member, NodeDescription, Reference } from '../../../cluster/index.js';
import { ClusterError, targetOf } from '../../../cluster/index.js';
import type { PulseServiceDefinition } from '../../../generated/troupe/actors/v1/pulse.js';
import { type PulseKind, pulseKey } from './pulse.actor.js';

type Beats = (group: string, key: string) => Reference<typeof PulseServiceDefinition>;

export interface NodeReport {
  readonly member: Pick<Member, 'process' | 'address' | 'roles'>;
  /** The node's own description; undefined if it did not answer. */
  readonly description: NodeDescription | undefined;
  /** It has left the view and finishes its running turns. */
  readonly isLeaving: boolean;
}

/** Pulses belong to no tenant. */
const group = 'platform';
const deadlineMs = 1_500;

/** Finds a pulse actor of this node by its slots, and collects what the nodes report of themselves. */
export class ReadinessProbes {
  readonly #kind: PulseKind;
  readonly #beats: Beats;
  readonly #node: () => ClusterNode | undefined;

  constructor(kind: PulseKind, beats: Beats, node: () => ClusterNode | undefined) {
    this.#kind = kind;
    this.#beats = beats;
    this.#node = node;
  }

  /** Throws if a call fails: to an actor of this node, or of any node if this one has no slots. */
  async beat(): Promise<void> {
    const node = this.#node();
    if (node === undefined) throw new ClusterError('not_serving', 'this node has not started');
    const ownKey = pulseKey(
      (key) => targetOf(this.#kind, group, key).slot,
      (slot) => node.ring.ownerOf(slot)?.process === node.process,
    );
    await this.#beats(group, ownKey ?? 'pulse-0').beat({}, { deadlineMs });
  }

  /** Reports of every node with slots, of those that leave, and of this node; this node's own needs no call. */
  async reports(): Promise<readonly NodeReport[]> {
    const node = this.#node();
    if (node === undefined) return [];
    const present = new Set(node.ring.view.members.map(({ process }) => process));
    const { processes } = node;
    const { nodes } = await node.describeCluster(deadlineMs);
    const descriptions = new Map(
      nodes.map((one) => [one.process, 'description' in one ? one.description : undefined]),
    );
    const reports = processes.map((member) => ({
      member,
      description: descriptions.get(member.process),
      isLeaving: !present.has(member.process),
    }));
    if (processes.some((member) => member.process === node.process)) return reports;
    // A node without slots is not a member, but its report is included.
    const own = { process: node.process, address: '', roles: ['edge'] as const };
    return [{ member: own, description: node.describe(), isLeaving: false }, ...reports];
  }

  describe(): NodeDescription | undefined {
    return this.#node()?.describe();
  }
}
