import type { ProcessId } from '../ids/ids.js';
import { within } from '../time/within.js';
import type { Lease, RemovalOutcome } from './member-store.js';
import type { Member } from './membership.js';
import { waitMs, type Perspective } from './perspective.js';

/** One look shows the last renewal of a process that has ended; the store may have failed over in between. */
const exitedTries = 3;

interface Refusal {
  /** The lease's count when it was refused, if it had one: a renewal since then refutes the refusal. */
  readonly renewals: number | undefined;
  readonly sinceMs: number;
  /** It had promised nothing to anybody until then. */
  readonly wasFree: boolean;
  asking: boolean;
}

/**
 * Takes away the leases of the dead: at once where a parent or peer saw the exit, after a short silence where
 * two processes were refused (one, if there are only two), else after lease and margin.
 */
export class Removal {
  readonly #world: Perspective;
  readonly #refusals = new Map<ProcessId, Refusal>();
  readonly #probing = new Set<ProcessId>();
  readonly #answered = new Map<ProcessId, number>();
  #hasSuspects = false;

  constructor(world: Perspective) {
    this.#world = world;
  }

  /** Somebody missed a renewal: worth looking at the store more often. */
  get hasSuspects(): boolean {
    return this.#hasSuspects;
  }

  answeredMs(process: ProcessId): number | undefined {
    return this.#answered.get(process);
  }

  /** How long its listener has been gone, as far as this process knows; nothing if it is not. */
  refusedMs(process: ProcessId): number | undefined {
    const refusal = this.#refusals.get(process);
    const lease = this.#world.observer.lastLease(process);
    if (refusal === undefined || (lease !== undefined && lease.renewals !== refusal.renewals))
      return undefined;
    return this.#world.time.monotonicMs() - refusal.sinceMs;
  }

  /**
   * It ended while it was free: it had promised nothing, and promises nothing any more. Whoever is killed in the middle
   * of calm need not be counted among those who may be confirming each other.
   */
  endedFree(process: ProcessId): boolean {
    return this.refusedMs(process) !== undefined && this.#refusals.get(process)?.wasFree === true;
  }

  reportRefused(process: ProcessId): void {
    // After a flush a member may die before it has a lease again.
    const member = this.#world.observer.lease(process)?.member ?? this.#member(process);
    if (member === undefined || process === this.#world.self.process) return;
    if (this.#sawExit(member)) return;
    this.#noteEnd(process);
    void this.#speakAgainst(process);
  }

  reportExited(process: ProcessId): void {
    this.#noteEnd(process);
    this.#world.gone.add(process);
    this.#tellGone(process);
    void this.#removeExited(process);
  }

  /** After each look at the store. */
  consider(): void {
    const { observer, config, self } = this.#world;
    for (const [process, refusal] of this.#refusals) {
      if (this.#isSettled(process, refusal)) this.#refusals.delete(process);
    }
    for (const process of this.#answered.keys()) {
      if (observer.lease(process) === undefined && this.#member(process) === undefined)
        this.#answered.delete(process);
    }
    this.#hasSuspects = false;
    if (!this.#world.mayChange()) return;
    for (const member of this.#world.view().members) {
      // Forgotten with everything else, and not back yet.
      const isForgotten = observer.lastLease(member.process) === undefined && member.process !== self.process;
      if (isForgotten && observer.silentMs(member.process) > config.leaseRenewMs) this.#suspect(member);
    }
    for (const lease of observer.leases()) {
      const { process } = lease.member;
      if (process === self.process) continue;
      const silentMs = observer.silentMs(process);
      if (silentMs >= waitMs(config)) {
        this.#hasSuspects = true;
        void this.#takeAway(lease, { voices: 1, silenceMs: 0 }, 'silent');
      } else if (silentMs > config.leaseRenewMs) {
        this.#suspect(lease.member);
      }
    }
  }

  #noteEnd(process: ProcessId): void {
    const { observer, time, config } = this.#world;
    // As last seen: once its lease is taken away it still is the same end.
    const renewals = observer.lastLease(process)?.renewals;
    const known = this.#refusals.get(process);
    if (known !== undefined && known.renewals === renewals) return;
    const sinceMs = time.monotonicMs();
    const wasFree = observer.isFree(process, sinceMs, config.memberStoreAwayMs);
    this.#refusals.set(process, { renewals, sinceMs, wasFree, asking: false });
  }

  /** Out of the view, and nothing that it may have promised can hold any more: its lease has been gone so long. */
  #isSettled(process: ProcessId, refusal: Refusal): boolean {
    const { observer, time, config } = this.#world;
    if (observer.lease(process) !== undefined || this.#member(process) !== undefined) return false;
    const goneMs = observer.vanishedMs(process) ?? time.monotonicMs() - refusal.sinceMs;
    return goneMs >= config.leaseActMs + config.leaseMarginMs;
  }

  async #removeExited(process: ProcessId): Promise<void> {
    for (let tries = 0; tries < exitedTries; tries += 1) {
      const lease = this.#world.observer.lease(process);
      if (lease === undefined) return;
      const outcome = await this.#takeAway(lease, { voices: 1, silenceMs: 0 }, 'exited');
      // It renewed once more after this process had last looked, and then ended.
      if (outcome?.outcome !== 'refuted' || !(await this.#world.look())) return;
    }
  }

  #suspect(member: Member): void {
    this.#hasSuspects = true;
    if (this.refusedMs(member.process) !== undefined) void this.#speakAgainst(member.process);
    else void this.#probe(member);
  }

  #member(process: ProcessId): Member | undefined {
    return this.#world.view().members.find((member) => member.process === process);
  }

  /** One question at a time for each; it missed a renewal, so it may be gone without anybody having called it. */
  async #probe(member: Member): Promise<void> {
    const { probe, self, time, config } = this.#world;
    if (this.#probing.has(member.process)) return;
    this.#probing.add(member.process);
    const controller = new AbortController();
    const timer = time.after(config.probeTimeoutMs, () => controller.abort());
    try {
      const request = { from: self.process, view: this.#world.view(), confirm: false, exited: undefined };
      const answer = await probe.ask(member, request, controller.signal);
      if (answer.outcome === 'refused') this.reportRefused(member.process);
      else this.#answered.set(member.process, time.monotonicMs());
    } catch {
      // Nothing was learned, which a probe of a silent process may well come to; the next look asks again.
    } finally {
      timer.cancel();
      this.#probing.delete(member.process);
    }
  }

  #sawExit(member: Member): boolean {
    const { self, hasExited } = this.#world;
    if (member.host !== self.host || hasExited?.(member) !== true) return false;
    this.reportExited(member.process);
    return true;
  }

  async #speakAgainst(process: ProcessId): Promise<void> {
    const { observer, config, time } = this.#world;
    const refusal = this.#refusals.get(process);
    const lease = observer.lease(process);
    const renewals = refusal?.renewals;
    if (refusal === undefined || lease === undefined || renewals === undefined) return;
    if (refusal.asking || !this.#world.mayChange()) return;
    refusal.asking = true;
    const workers = this.#world.view().members.length;
    const rules = { voices: workers <= 2 ? 1 : 2, silenceMs: config.earlyRemovalSilenceMs };
    const outcome = await this.#takeAway({ ...lease, renewals }, rules, 'refused');
    refusal.asking = false;
    if (outcome?.outcome === 'too_early') {
      const waitsMs = Math.max(10, config.earlyRemovalSilenceMs - outcome.silentMs);
      time.after(waitsMs, () => void this.#speakAgainst(process));
    } else if (outcome?.outcome === 'refuted') {
      // Another took it away, or it renewed after this process had last looked: perhaps before it died, so ask once more.
      if ((await this.#world.look()) && observer.lease(process) !== undefined) void this.#probe(lease.member);
    }
  }

  async #takeAway(
    lease: Lease,
    rules: { readonly voices: number; readonly silenceMs: number },
    because: 'refused' | 'silent' | 'exited',
  ): Promise<RemovalOutcome | undefined> {
    const { store, observer, config, time, self } = this.#world;
    const generation = observer.generation;
    if (generation === undefined || !this.#world.mayChange() || this.#world.opposition().processes.length > 0)
      return undefined;
    const { process } = lease.member;
    const request = {
      generation,
      process,
      renewals: lease.renewals,
      voice: self.process,
      voiceMs: config.voiceMs,
      ...rules,
    };
    try {
      const removal = store.remove(request);
      const outcome = await within(time, config.memberStoreTimeoutMs, 'the removal of a lease', removal);
      if (outcome.outcome === 'removed') {
        this.#world.tell({ event: 'removed', process, because });
        await this.#world.look();
      }
      return outcome;
    } catch (error) {
      // Done or not: the next look shows the lease or its absence.
      this.#world.tell({ event: 'store_failed', error });
      return undefined;
    }
  }

  /** Peers that came later would have to wait once more to know it as well. Two tell them: one may be the next to go. */
  surelyGone(process: ProcessId): void {
    const tellers = this.#world.view().members.slice(0, 2);
    if (tellers.some((member) => member.process === this.#world.self.process)) this.#tellGone(process);
  }

  #tellGone(process: ProcessId): void {
    const { probe, self, time, config } = this.#world;
    const view = this.#world.view();
    const peers = view.members.filter(
      (member) => member.process !== self.process && member.process !== process,
    );
    for (const peer of peers.slice(0, config.exitsToldMax)) {
      const controller = new AbortController();
      const timer = time.after(config.probeTimeoutMs, () => controller.abort());
      probe
        .ask(peer, { from: self.process, view, confirm: false, exited: process }, controller.signal)
        // A peer that does not hear of it waits for lease and margin instead.
        .catch(() => undefined)
        .finally(() => timer.cancel());
    }
  }
}
