import type { ClusterConfig } from '../../cluster/config.js';
import { checkTraces, showRefused } from '../../cluster/trace/check.js';
import { SeededRandom } from '../../cluster/simulation/virtual-time.js';
import { MemberWorld, type MemberNode } from '../support/servers/member-world.js';
import { drawMemberFaults, endOfMemberFault, type MemberFault } from './member-faults.js';

export interface MemberVerdict {
  readonly seed: number;
  readonly nodes: number;
  readonly faults: readonly MemberFault[];
  readonly violations: readonly string[];
  readonly views: number;
  /** Processes that went on without the member store, at any time. */
  readonly confirmed: number;
  /** Steps that were replayed against the model, and how long that took. */
  readonly steps: number;
  readonly traceMs: number;
}

const spanMs = 14_000;
const stepMs = 100;
/**
 * After the last fault, or the last start of a process, all agree within this time, and know who is gone: 10 s, and up to
 * 3 s more because processes that have lost their right to act go on answering probes here instead of ending.
 */
const settleMs = 13_500;

/** Membership alone under faults, without actors: many seeds a second, and nothing hides its mistakes. */
export async function runMembers({
  seed,
  faults: given,
  config = {},
}: {
  readonly seed: number;
  readonly faults?: readonly MemberFault[];
  readonly config?: Partial<ClusterConfig>;
}): Promise<MemberVerdict> {
  const draw = new SeededRandom(seed ^ 0x3e3b);
  const nodes = draw.pick([2, 3, 3, 3, 4, 5]);
  const drawn = drawMemberFaults(draw, nodes, spanMs);
  const faults = given ?? drawn;
  const world = new MemberWorld(seed, config);
  world.exitsSeen = draw.chance(0.2);
  await world.settled(nodes);
  const run = new MemberRun(world);
  for (const fault of faults) world.time.after(fault.atMs, () => run.inject(fault));
  const endMs = world.time.monotonicMs() + Math.max(0, ...faults.map(endOfMemberFault));
  while (world.time.monotonicMs() < endMs) await run.step();
  run.faultsEnded();
  while (world.time.monotonicMs() < run.settledAtMs) await run.step();
  run.checkSettled();
  const startedMs = performance.now();
  run.checkTrace();
  const traceMs = performance.now() - startedMs;
  const { violations, views, confirmed } = run;
  return { seed, nodes, faults, violations, views, confirmed, steps: world.trace.length, traceMs };
}

class MemberRun {
  readonly violations: string[] = [];
  readonly #world: MemberWorld;
  readonly #hashes = new Map<number, string>();
  readonly #started = new Set<MemberNode>();
  readonly #leaving = new Set<MemberNode>();
  /** Until when a process may go on that could not read the seized number: all of its view had promised (finding 6). */
  readonly #unreadUntilMs = new Map<MemberNode, number>();
  readonly #awaited = new Set<string>();

  #joined = 0;
  #replacing = false;
  #starting = false;
  #startedAtMs = 0;
  confirmed = 0;

  constructor(world: MemberWorld) {
    this.#world = world;
    for (const node of world.nodes) {
      this.#watch(node);
      this.#started.add(node);
    }
  }

  get views(): number {
    return this.#hashes.size;
  }

  get settledAtMs(): number {
    return this.#startedAtMs + settleMs;
  }

  inject(fault: MemberFault): void {
    const { time, store } = this.#world;
    const node = 'node' in fault ? this.#world.nodes[fault.node] : undefined;
    switch (fault.kind) {
      case 'kill':
        if (node !== undefined) this.#kill(node);
        break;
      case 'leave':
        if (node?.time.frozen === false) void this.#leave(node);
        break;
      case 'lease_removed':
        if (node !== undefined) store.takeAway(node.member.process);
        break;
      case 'refused':
        if (node !== undefined) this.#refuse(node);
        break;
      case 'freeze':
      case 'pause': {
        if (node === undefined || !node.alive || node.time.frozen || node.time.wallOffMs < 0) break;
        node.freeze();
        const from = time.monotonicMs();
        const tick = (): void => {
          if (!node.time.frozen || !node.alive || fault.kind === 'freeze') return;
          node.time.pausedMs = time.monotonicMs() - from;
          time.after(stepMs, tick);
        };
        tick();
        time.after(fault.forMs, () => {
          if (node.alive) node.thaw();
        });
        break;
      }
      case 'store_away':
        for (const [place, backAfterMs] of Object.entries(fault.backAfterMs)) {
          const away = this.#world.nodes[Number(place)];
          if (away === undefined) continue;
          away.reachesStore = false;
          time.after(backAfterMs, () => (away.reachesStore = true));
        }
        break;
      case 'steps_late':
        if (node === undefined) break;
        node.stepsLateMs = fault.lateMs;
        time.after(fault.forMs, () => (node.stepsLateMs = 0));
        break;
      case 'numbers_away':
        for (const place of fault.nodes) {
          const away = this.#world.nodes[place];
          if (away === undefined) continue;
          away.reachesNumbers = false;
          const untilMs = time.monotonicMs() + fault.forMs + this.#world.config.leaseActMs;
          this.#unreadUntilMs.set(away, Math.max(untilMs, this.#unreadUntilMs.get(away) ?? 0));
          time.after(fault.forMs, () => (away.reachesNumbers = true));
        }
        break;
      case 'cut':
      case 'cut_one_way': {
        const other = this.#world.nodes[fault.other];
        if (node === undefined || other === undefined) break;
        if (fault.kind === 'cut') this.#world.cut(node, other);
        else this.#world.cutOneWay(node, other);
        time.after(fault.forMs, () => this.#world.join(node, other));
        break;
      }
      case 'rejected': {
        const inside = fault.nodes.flatMap((place) => this.#world.nodes[place] ?? []);
        const accept = this.#world.reject(inside);
        time.after(fault.forMs, accept);
        break;
      }
      case 'flush':
        store.flush();
        break;
      case 'failover': {
        const failOver = store.copy();
        time.after(fault.lagMs, failOver);
        break;
      }
      case 'join':
        this.#join();
        break;
      case 'split': {
        const led = fault.nodes.flatMap((place) => this.#world.nodes[place] ?? []);
        this.#world.promoteReplica(led);
        // In the end all are led to the replica.
        time.after(fault.forMs, () => this.#world.followReplica());
        break;
      }
      case 'wall_clock':
        // At least one clock counts a pause: docs/protocol states it as an assumption.
        if (node?.time.frozen === false && node.time.pausedMs === 0) node.time.wallOffMs = fault.offsetMs;
        break;
    }
  }

  faultsEnded(): void {
    this.#startedAtMs = Math.max(this.#startedAtMs, this.#world.time.monotonicMs());
    this.#replacing = true;
  }

  async step(): Promise<void> {
    await this.#world.time.advance(stepMs);
    this.#checkGone();
    if (this.#replacing) this.#awaitGone();
    // A supervisor starts a process once none is left.
    if (this.#replacing && !this.#starting && this.#members().length === 0) this.#join();
  }

  /** As an actor with a stamp of theirs does: only then does a process seize a number because of its doubt. */
  #awaitGone(): void {
    for (const node of this.#members()) {
      for (const other of this.#world.nodes) {
        const pair = `${node.member.process} ${other.member.process}`;
        if (this.#awaited.has(pair) || this.#mayAct(other) || this.#members().includes(other)) continue;
        // Nobody knows a process before it is a member.
        if (other.alive && other.membership.standing() === 'joining') continue;
        this.#awaited.add(pair);
        void node.membership.whenSurelyGone(other.member.process, new AbortController().signal);
      }
    }
  }

  checkSettled(): void {
    const members = this.#members();
    const names = members.map(({ member }) => member.process).sort();
    for (const node of members) {
      const view = node.viewNames().split(' ').sort().join(' ');
      if (view !== names.join(' '))
        this.#found(`${node.member.process} holds the view ${view} of ${names.join(' ')}`);
      for (const other of this.#world.nodes) {
        if (members.includes(other) || this.#mayAct(other)) continue;
        if (!node.membership.surelyGone(other.member.process)) {
          this.#found(`${node.member.process} does not know that ${other.member.process} is gone`);
        }
      }
    }
  }

  checkTrace(): void {
    const { refused } = checkTraces(this.#world.trace, this.#world.config);
    if (refused !== undefined) this.#found(`trace: ${showRefused(refused)}`);
  }

  /** Live workers that are not leaving. */
  #members(): MemberNode[] {
    return this.#world.nodes.filter(
      (node) => node.alive && !this.#leaving.has(node) && !isOver(node) && this.#started.has(node),
    );
  }

  #checkGone(): void {
    for (const observer of this.#world.nodes) {
      if (!observer.alive || observer.time.frozen || isOver(observer)) continue;
      if (observer.membership.standing() === 'confirmed_by_peers') this.confirmed += 1;
      for (const other of this.#world.nodes) {
        if (other === observer || !this.#mayAct(other)) continue;
        if (!observer.membership.surelyGone(other.member.process) || this.#isUnread(other)) continue;
        this.#found(
          `${observer.member.process} holds ${other.member.process} for surely gone, which may act`,
        );
      }
    }
  }

  #mayAct(node: MemberNode): boolean {
    const standing = node.membership.standing();
    return (
      node.alive &&
      (standing === 'member' || standing === 'confirmed_by_peers') &&
      node.membership.leaseAgeMs() < this.#world.config.leaseActMs
    );
  }

  /** It goes on because all of its view promised, and cannot know that a newcomer has seized a number. */
  #isUnread(node: MemberNode): boolean {
    const isConfirmed = node.membership.standing() === 'confirmed_by_peers';
    return isConfirmed && this.#world.time.monotonicMs() < (this.#unreadUntilMs.get(node) ?? 0);
  }

  #watch(node: MemberNode): void {
    node.membership.onView(({ number, hash, members }) => {
      const known = this.#hashes.get(number);
      this.#hashes.set(number, hash);
      if (known !== undefined && known !== hash) this.#found(`view ${number} names two sets of members`);
      for (const other of this.#world.nodes) {
        const isOut = !members.some(({ process }) => process === other.member.process);
        const acts = other.membership.standing() === 'confirmed_by_peers' && this.#mayAct(other);
        if (!isOut || !acts || this.#leaving.has(other) || this.#isUnread(other)) continue;
        if (other.membership.view().number >= number) continue;
        this.#found(`view ${number} excludes ${other.member.process}, which its peers confirm`);
      }
    });
  }

  #kill(node: MemberNode): void {
    node.kill();
    for (const peer of this.#world.nodes) {
      if (peer !== node && peer.alive) peer.membership.reportRefused(node.member.process);
    }
  }

  #refuse(node: MemberNode): void {
    for (const peer of this.#world.nodes) {
      if (peer !== node && peer.alive) peer.membership.reportRefused(node.member.process);
    }
  }

  async #leave(node: MemberNode): Promise<void> {
    this.#leaving.add(node);
    await node.membership.beginLeave();
    await node.membership.leave();
  }

  #join(): void {
    const node = this.#world.add(`q${this.#joined}`);
    this.#joined += 1;
    this.#watch(node);
    this.#starting = true;
    this.#startedAtMs = this.#world.time.monotonicMs();
    node
      .start()
      .then(
        () => this.#started.add(node),
        // It could not join, and is as if it had never started.
        () => node.kill(),
      )
      .finally(() => (this.#starting = false));
  }

  #found(violation: string): void {
    if (this.violations.length < 20) this.violations.push(`${this.#world.time.monotonicMs()}: ${violation}`);
  }
}

function isOver({ membership }: MemberNode): boolean {
  return membership.standing() === 'fenced' || membership.standing() === 'left';
}
