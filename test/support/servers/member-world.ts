// Memberships on one virtual clock: a store in memory, and probes that reach the processes that the test allows.

import { clusterConfig, type ClusterConfig } from '../../../cluster/config.js';
import { ClusterError } from '../../../cluster/errors.js';
import { processId, type ProcessId } from '../../../cluster/ids/ids.js';
import { ClusterMembership } from '../../../cluster/membership/cluster-membership.js';
import type { Member, Role } from '../../../cluster/membership/membership.js';
import type {
  PeerProbe,
  ProbeAnswer,
  ProbeReply,
  ProbeRequest,
} from '../../../cluster/membership/peer-probe.js';
import type { MembershipEvent, MembershipParts } from '../../../cluster/membership/perspective.js';
import type { Traced } from '../../../cluster/trace/events.js';
import { recorder } from '../../../cluster/trace/recorder.js';
import { tracedMembership } from '../../../cluster/trace/traced-membership.js';
import {
  changingStore,
  MemoryMembers,
  MemoryNumbers,
  type Transit,
} from '../../../cluster/simulation/member-store.js';
import { SeededRandom, VirtualTime } from '../../../cluster/simulation/virtual-time.js';
import type { Time, Timer } from '../../../cluster/time/time.js';

/** The clock of one process: it can be frozen, and its wall clock can be wrong. */
class NodeTime implements Time {
  readonly #time: VirtualTime;
  readonly #held: (() => void)[] = [];
  frozen = false;
  /** A paused machine's monotonic clock does not move. */
  pausedMs = 0;
  wallOffMs = 0;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  monotonicMs(): number {
    return this.#time.monotonicMs() - this.pausedMs;
  }

  wallMs(): number {
    return this.#time.wallMs() + this.wallOffMs;
  }

  after(delayMs: number, action: () => void): Timer {
    return this.#time.after(delayMs, () => {
      if (this.frozen) this.#held.push(action);
      else action();
    });
  }

  soon(action: () => void): void {
    this.after(0, action);
  }

  thaw(): void {
    this.frozen = false;
    for (const action of this.#held.splice(0)) action();
  }
}

export class MemberNode {
  readonly member: Member;
  readonly time: NodeTime;
  readonly membership: ClusterMembership;
  readonly events: MembershipEvent[] = [];
  readonly #world: MemberWorld;
  handler: ((request: ProbeRequest) => ProbeReply | Promise<ProbeReply>) | undefined;
  alive = true;
  reachesStore = true;
  reachesNumbers = true;
  /** Renewals have a connection of their own, which may be lost alone. */
  canRenew = true;
  /** How long its steps to the store are on their way, as behind a proxy that resends them. */
  stepsLateMs = 0;
  /** How much longer than usual the answers of both stores are on their way. */
  answersLateMs = 0;
  /** How much longer than usual its questions to the durable store are on their way. */
  numbersLateMs = 0;
  fencedAtMs: number | undefined;

  constructor(world: MemberWorld, member: Member) {
    this.#world = world;
    this.member = member;
    this.time = new NodeTime(world.time);
    const transit: Transit = (step) =>
      this.#travel(step, () => this.reachesStore && world.storeUp, this.stepsLateMs);
    const numbers: Transit = (step) => this.#travel(step, () => this.reachesNumbers, this.numbersLateMs);
    const store = changingStore(
      () => world.storeOf(this),
      (members) => members.client(transit, this.time),
    );
    const lost = new ClusterError('membership_unavailable', 'the connection of the renewals is lost');
    const parts: MembershipParts = {
      self: member,
      store: {
        ...store,
        renew: (...given) => (this.canRenew ? store.renew(...given) : Promise.reject(lost)),
      },
      numbers: world.numbers.client(numbers),
      probe: world.probeOf(this),
      time: this.time,
      random: world.random,
      config: world.config,
      hasExited: (other) => world.exitsSeen && world.node(other.process)?.alive === false,
      report: (event) => this.events.push(event),
    };
    const trace = recorder(member.process, this.time, (traced) => world.trace.push(traced));
    this.membership = new ClusterMembership(tracedMembership(parts, trace));
    this.membership.onFenced(() => {
      this.fencedAtMs = world.time.monotonicMs();
    });
  }

  /** Runs until the step is done or the virtual clock has moved so far. */
  async start(): Promise<void> {
    await this.membership.start(new AbortController().signal);
  }

  /** As kill -9 would: nothing of it runs again, and its address refuses. */
  kill(): void {
    this.alive = false;
    this.time.frozen = true;
  }

  freeze(): void {
    this.time.frozen = true;
  }

  thaw(): void {
    this.time.thaw();
  }

  /** The processes that its view names. */
  viewNames(): string {
    return this.membership
      .view()
      .members.map((member) => member.process)
      .join(' ');
  }

  #travel<Result>(step: () => Result, reaches: () => boolean, lateMs = 0): Promise<Result> {
    const { time, random } = this.#world;
    return new Promise((resolve, reject) => {
      const thereMs = 0.2 + random.fraction() + lateMs;
      time.after(thereMs, () => {
        if (!reaches() || !this.alive) {
          this.time.after(0, () => reject(new ClusterError('membership_unavailable', 'not reachable')));
          return;
        }
        const result = step();
        this.time.after(0.2 + random.fraction() + this.answersLateMs, () => {
          if (reaches()) resolve(result);
          else reject(new ClusterError('membership_unavailable', 'the answer was lost'));
        });
      });
    });
  }
}

export class MemberWorld {
  readonly time = new VirtualTime();
  readonly random: SeededRandom;
  readonly store: MemoryMembers;
  readonly numbers = new MemoryNumbers(this.time);
  readonly config: ClusterConfig;
  readonly nodes: MemberNode[] = [];
  /** What all processes did, for the checker of traces. */
  readonly trace: Traced[] = [];
  readonly #cuts = new Set<string>();
  readonly #rejected = new Set<ReadonlySet<ProcessId>>();
  readonly #promoted = new Map<MemberNode, MemoryMembers>();
  #forAll: MemoryMembers | undefined;
  storeUp = true;
  /** Whether processes of one host see each other's exit. */
  exitsSeen = false;

  constructor(seed = 1, changes: Partial<ClusterConfig> = {}) {
    this.random = new SeededRandom(seed);
    this.store = new MemoryMembers(this.time, this.random);
    this.config = clusterConfig(changes);
  }

  /** A replica is promoted, which only these nodes are led to. */
  promoteReplica(nodes: readonly MemberNode[]): void {
    const replica = this.store.promoted();
    for (const node of nodes) this.#promoted.set(node, replica);
  }

  /** All are led to the replica, if one was promoted. */
  followReplica(): void {
    const [replica] = this.#promoted.values();
    if (replica !== undefined) this.#forAll = replica;
  }

  storeOf(node: MemberNode): MemoryMembers {
    return this.#forAll ?? this.#promoted.get(node) ?? this.store;
  }

  add(name: string, roles: readonly Role[] = ['edge', 'worker']): MemberNode {
    const process = processId(name);
    const node = new MemberNode(this, { process, address: name, weight: 1, roles, host: 'one', pid: 1 });
    this.nodes.push(node);
    return node;
  }

  /** So many members, in one view, after some calm. */
  async settled(count: number): Promise<MemberNode[]> {
    const nodes = Array.from({ length: count }, (_, index) => this.add(`p${index}`));
    const started = Promise.all(nodes.map((node) => node.start()));
    const names = nodes.map((node) => node.member.process).join(' ');
    await this.time.until(() => nodes.every((node) => node.viewNames() === names), 10_000);
    await this.finish(started);
    await this.time.advance(7_000);
    return nodes;
  }

  /** Moves the clock until `work` is done. */
  async finish<Result>(work: Promise<Result>, boundMs = 10_000): Promise<Result> {
    let done = false;
    const settled = work.finally(() => {
      done = true;
    });
    // The caller that awaits the result below gets the error; here it only ends the loop.
    settled.catch(() => undefined);
    await this.time.until(() => done, boundMs);
    return settled;
  }

  node(process: ProcessId): MemberNode | undefined {
    return this.nodes.find((node) => node.member.process === process);
  }

  /** Nothing goes between these two. */
  cut(one: MemberNode, other: MemberNode): void {
    this.#cuts.add(`${one.member.process} ${other.member.process}`);
    this.#cuts.add(`${other.member.process} ${one.member.process}`);
  }

  /** Only the questions of the first do not reach the second. */
  cutOneWay(from: MemberNode, to: MemberNode): void {
    this.#cuts.add(`${from.member.process} ${to.member.process}`);
  }

  join(one: MemberNode, other: MemberNode): void {
    this.#cuts.delete(`${one.member.process} ${other.member.process}`);
    this.#cuts.delete(`${other.member.process} ${one.member.process}`);
  }

  /** A firewall refuses connections between these and all others, in both directions, until the result is called. */
  reject(nodes: readonly MemberNode[]): () => void {
    const inside = new Set(nodes.map(({ member }) => member.process));
    this.#rejected.add(inside);
    return () => this.#rejected.delete(inside);
  }

  #rejects(from: ProcessId, to: ProcessId): boolean {
    return [...this.#rejected].some((inside) => inside.has(from) !== inside.has(to));
  }

  probeOf(from: MemberNode): PeerProbe {
    return {
      answerWith: (handler) => {
        from.handler = handler;
      },
      ask: (peer, request, signal) => this.#ask(from, peer, request, signal),
    };
  }

  #ask(from: MemberNode, peer: Member, request: ProbeRequest, signal: AbortSignal): Promise<ProbeAnswer> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new ClusterError('deadline_exceeded', 'probe')), {
        once: true,
      });
      const to = this.node(peer.process);
      if (to === undefined || this.#cuts.has(`${from.member.process} ${peer.process}`)) return;
      this.time.after(0.5, () => {
        if (!to.alive || this.#rejects(from.member.process, peer.process)) {
          from.time.after(0.5, () => resolve({ outcome: 'refused' }));
          return;
        }
        // A frozen process accepts the connection and answers when it continues.
        to.time.after(0, () => {
          void Promise.resolve(to.handler?.(request)).then((reply) => {
            if (reply !== undefined) from.time.after(0.5, () => resolve({ outcome: 'replied', reply }));
          });
        });
      });
    });
  }
}

export function standings(nodes: readonly MemberNode[]): string[] {
  return nodes.map((node) => node.membership.standing());
}

/** Virtual milliseconds until it holds. */
export async function msUntil(world: MemberWorld, holds: () => boolean, boundMs: number): Promise<number> {
  const startedMs = world.time.monotonicMs();
  await world.time.until(holds, boundMs);
  return world.time.monotonicMs() - startedMs;
}
