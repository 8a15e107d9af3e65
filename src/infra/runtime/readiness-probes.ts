import type { ClusterNode, Member, NodeDescription, ProcessId, Reference } from '../../../cluster/index.js';
import { ClusterError, targetOf } from '../../../cluster/index.js';
import type { PulseServiceDefinition } from '../../../generated/troupe/actors/v1/pulse.js';
import { type PulseKind, pulseKey } from './pulse.actor.js';

type Beats = (group: string, key: string) => Reference<typeof PulseServiceDefinition>;

export interface NodeReport {
  readonly member: Pick<Member, 'process' | 'address' | 'roles'>;
  /** The node's own description; undefined if it did not answer. */
  readonly description: NodeDescription | undefined;
}

/** Pulses belong to no tenant. */
const group = 'platform';
const deadlineMs = 1_500;

/** Finds the pulse actor of each node by its slots, and calls it. */
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
    const key = this.#keyOf(node, node.process) ?? 'pulse-0';
    await this.#beats(group, key).beat({}, { deadlineMs });
  }

  /** Reports of every node with slots and of this node; this node's own needs no call. */
  async reports(): Promise<readonly NodeReport[]> {
    const node = this.#node();
    if (node === undefined) return [];
    const { members } = node.ring.view;
    const asked = Promise.all(
      members.map(async (member): Promise<NodeReport> => {
        if (member.process === node.process) return { member, description: node.describe() };
        const key = this.#keyOf(node, member.process);
        return { member, description: key === undefined ? undefined : await this.#ask(key, member.process) };
      }),
    );
    if (members.some((member) => member.process === node.process)) return asked;
    // A node without slots is not a member, but its report is included.
    const own = { process: node.process, address: '', roles: ['edge'] as const };
    return [{ member: own, description: node.describe() }, ...(await asked)];
  }

  describe(): NodeDescription | undefined {
    return this.#node()?.describe();
  }

  async #ask(key: string, process: ProcessId): Promise<NodeDescription | undefined> {
    try {
      const { description } = await this.#beats(group, key).describe({}, { deadlineMs });
      const read = JSON.parse(description) as NodeDescription;
      // The slot may have moved during the call.
      return read.process === process ? read : undefined;
    } catch {
      // The report lists the node as one that did not answer.
      return undefined;
    }
  }

  #keyOf(node: ClusterNode, process: ProcessId): string | undefined {
    return pulseKey(
      (key) => targetOf(this.#kind, group, key).slot,
      (slot) => node.ring.ownerOf(slot)?.process === process,
    );
  }
}
