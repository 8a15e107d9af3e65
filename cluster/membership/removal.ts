import type { ProcessId } from '../ids/ids.js';
import { answerWithin } from '../time/within.js';
import type { Lease, RemovalOutcome } from './member-store.js';
import type { Member } from './membership.js';
import { neighboursOf } from './neighbours.js';
import { waitMs, type Perspective } from './perspective.js';
import { includes } from './view.js';

/** A poll shows the last renewal of a process that has exited; the store may have failed over in between. */
const exitedTries = 3;

interface Refusal {
  /** The lease's renewal count at the refusal, if it had a lease. A renewal since then refutes the refusal. */
  readonly renewals: number | undefined;
  readonly sinceMs: number;
  asking: boolean;
}

/**
 * Removes the leases of dead processes: at once if a parent or peer saw the exit, after a short silence if two
 * processes were refused (one, if there are only two workers), otherwise after lease and margin.
 */
export class Removal {
  readonly #context: Perspective;
  readonly #refusals = new Map<ProcessId, Refusal>();
  readonly #probing = new Set<ProcessId>();
  readonly #answered = new Map<ProcessId, number>();
  #hasSuspects = false;

  constructor(context: Perspective) {
    this.#context = context;
  }

  /** A process missed a renewal: the store is polled more often. */
  get hasSuspects(): boolean {
    return this.#hasSuspects;
  }

  answeredMs(process: ProcessId): number | undefined {
    return this.#answered.get(process);
  }

  /** How long its listener is known to be gone; undefined if it is not. */
  refusedMs(process: ProcessId): number | undefined {
    const refusal = this.#refusals.get(process);
    const lease = this.#context.observer.lastLease(process);
    if (refusal === undefined || (lease !== undefined && lease.renewals !== refusal.renewals))
      return undefined;
    return this.#context.time.monotonicMs() - refusal.sinceMs;
  }

  reportRefused(process: ProcessId): void {
    // After a flush a member may die before it has a lease again.
    const member = this.#context.observer.lease(process)?.member ?? this.#member(process);
    if (member === undefined || process === this.#context.self.process) return;
    if (this.#sawExit(member)) return;
    this.#recordEnd(process);
    void this.#voteAgainst(process);
  }

  reportExited(process: ProcessId): void {
    this.#recordEnd(process);
    this.#context.gone.add(process, 'reported');
    this.#notifyGone(process);
    void this.#removeExited(process);
  }

  /** Runs after each poll of the store. */
  consider(): void {
    const { observer, config, self } = this.#context;
    for (const [process, refusal] of this.#refusals) {
      if (this.#isSettled(process, refusal)) this.#refusals.delete(process);
    }
    for (const process of this.#answered.keys()) {
      if (observer.lease(process) === undefined && this.#member(process) === undefined)
        this.#answered.delete(process);
    }
    this.#hasSuspects = false;
    if (!this.#context.mayChange()) return;
    const others = this.#othersWatch();
    for (const member of this.#context.view().members) {
      // Its lease was lost with the store's data and is not back yet.
      const isForgotten = observer.lastLease(member.process) === undefined && member.process !== self.process;
      if (!isForgotten || observer.silentMs(member.process) <= config.leaseRenewMs) continue;
      if (!others(member.process)) this.#suspect(member);
    }
    for (const lease of observer.leases()) {
      const { process } = lease.member;
      if (process === self.process) continue;
      if (this.#context.gone.has(process)) {
        // A view named it before it knew, and it is back after it was given up: it needs a new id.
        void this.#remove(lease, { votesNeeded: 1, silenceMs: 0 }, 'exited');
        continue;
      }
      const silentMs = observer.silentMs(process);
      if (silentMs <= config.leaseRenewMs) continue;
      if (silentMs < waitMs(config) + config.leaseRenewMs && others(process)) continue;
      if (silentMs >= waitMs(config)) {
        this.#hasSuspects = true;
        void this.#remove(lease, { votesNeeded: 1, silenceMs: 0 }, 'silent');
      } else {
        this.#suspect(lease.member);
      }
    }
  }

  /**
   * Whether a member is left to the processes that it is a neighbour of: that all ask for a silent process and remove it
   * would be the square of the size. They may have died too, so it is left to them for one renewal only. When so many are
   * silent that a number may be seized, each process must know which of them answer.
   */
  #othersWatch(): (process: ProcessId) => boolean {
    const view = this.#context.view();
    const { self, config } = this.#context;
    if (view.members.length <= config.neighboursMax + 1) return () => false;
    let own: ReadonlySet<ProcessId> | undefined;
    let isOpposed: boolean | undefined;
    return (process) => {
      own ??= new Set(neighboursOf(view, self.process, config.neighboursMax));
      if (own.has(process) || !includes(view, process)) return false;
      isOpposed ??= this.#context.opposition().processes.length > 0;
      return !isOpposed;
    };
  }

  #recordEnd(process: ProcessId): void {
    const { observer, time } = this.#context;
    // The last seen lease: after its removal it is still the same end.
    const renewals = observer.lastLease(process)?.renewals;
    const known = this.#refusals.get(process);
    if (known !== undefined && known.renewals === renewals) return;
    this.#refusals.set(process, { renewals, sinceMs: time.monotonicMs(), asking: false });
  }

  /** It is out of the view, and its lease has been gone long enough for every promise of it to have expired. */
  #isSettled(process: ProcessId, refusal: Refusal): boolean {
    const { observer, time, config } = this.#context;
    if (observer.lease(process) !== undefined || this.#member(process) !== undefined) return false;
    const goneMs = observer.vanishedMs(process) ?? time.monotonicMs() - refusal.sinceMs;
    return goneMs >= config.leaseActMs + config.leaseMarginMs;
  }

  async #removeExited(process: ProcessId): Promise<void> {
    for (let tries = 0; tries < exitedTries; tries += 1) {
      const lease = this.#context.observer.lease(process);
      if (lease === undefined) return;
      const outcome = await this.#remove(lease, { votesNeeded: 1, silenceMs: 0 }, 'exited');
      // It renewed after this process's last poll, and then ended.
      if (outcome?.outcome !== 'refuted' || !(await this.#context.poll())) return;
    }
  }

  #suspect(member: Member): void {
    this.#hasSuspects = true;
    // Asked with each poll: a process that was still ending at its first refusal has ended by now.
    if (!this.#context.gone.has(member.process) && this.#sawExit(member)) return;
    if (this.refusedMs(member.process) !== undefined) void this.#voteAgainst(member.process);
    else void this.#probe(member);
  }

  #member(process: ProcessId): Member | undefined {
    return this.#context.view().members.find((member) => member.process === process);
  }

  /** One probe at a time per process. It missed a renewal, so it may be gone although no call has failed. */
  async #probe(member: Member): Promise<void> {
    const { probe, self, time, config } = this.#context;
    if (this.#probing.has(member.process)) return;
    this.#probing.add(member.process);
    const controller = new AbortController();
    const timer = time.after(config.probeTimeoutMs, () => controller.abort());
    try {
      const request = { from: self.process, view: this.#context.view(), confirm: false, exited: undefined };
      const answer = await probe.ask(member, request, controller.signal);
      if (answer.outcome === 'refused') this.reportRefused(member.process);
      else this.#answered.set(member.process, time.monotonicMs());
    } catch {
      // Nothing was learned, which is normal for a silent process; the next poll probes again.
    } finally {
      timer.cancel();
      this.#probing.delete(member.process);
    }
  }

  #sawExit(member: Member): boolean {
    const { self, hasExited } = this.#context;
    if (member.host !== self.host || hasExited?.(member) !== true) return false;
    this.reportExited(member.process);
    return true;
  }

  async #voteAgainst(process: ProcessId): Promise<void> {
    const { observer, config, time } = this.#context;
    const refusal = this.#refusals.get(process);
    const lease = observer.lease(process);
    const renewals = refusal?.renewals;
    if (refusal === undefined || lease === undefined || renewals === undefined) return;
    if (refusal.asking || !this.#context.mayChange()) return;
    refusal.asking = true;
    const workers = this.#context.view().members.length;
    const conditions = { votesNeeded: workers <= 2 ? 1 : 2, silenceMs: config.earlyRemovalSilenceMs };
    const outcome = await this.#remove({ ...lease, renewals }, conditions, 'refused');
    refusal.asking = false;
    if (outcome?.outcome === 'too_early') {
      const waitsMs = Math.max(10, config.earlyRemovalSilenceMs - outcome.silentMs);
      time.after(waitsMs, () => void this.#voteAgainst(process));
    } else if (outcome?.outcome === 'refuted') {
      // Another process removed it, or it renewed after the last poll, perhaps just before it died: probe once more.
      if ((await this.#context.poll()) && observer.lease(process) !== undefined)
        void this.#probe(lease.member);
    }
  }

  async #remove(
    lease: Lease,
    conditions: { readonly votesNeeded: number; readonly silenceMs: number },
    because: 'refused' | 'silent' | 'exited',
  ): Promise<RemovalOutcome | undefined> {
    const { store, observer, config, time, self } = this.#context;
    const generation = observer.generation;
    if (
      generation === undefined ||
      !this.#context.mayChange() ||
      this.#context.opposition().processes.length > 0
    )
      return undefined;
    const { process } = lease.member;
    const request = {
      generation,
      process,
      renewals: lease.renewals,
      voter: self.process,
      voteMs: config.voteMs,
      ...conditions,
    };
    try {
      const removal = store.remove(request);
      const outcome = await answerWithin(time, config.memberStoreTimeoutMs, 'removing a lease', removal);
      if (outcome.outcome === 'removed') {
        this.#context.emit({ event: 'removed', process, because });
        await this.#context.poll();
      }
      return outcome;
    } catch (error) {
      // The outcome is unknown; the next poll shows it.
      this.#context.emit({ event: 'store_failed', error });
      return undefined;
    }
  }

  /**
   * Peers that joined later would have to wait again to know this. The first two members that shared a view with the
   * process notify them, two in case one is the next to die: the first two of all may have joined later themselves.
   */
  surelyGone(process: ProcessId): void {
    const { members } = this.#context.view();
    const shared = new Set(this.#context.lastViewWith(process)?.members.map((member) => member.process));
    const knowing = members.filter((member) => shared.has(member.process));
    const notifiers = (knowing.length > 0 ? knowing : members).slice(0, 2);
    if (notifiers.some((member) => member.process === this.#context.self.process)) this.#notifyGone(process);
  }

  #notifyGone(process: ProcessId): void {
    const { probe, self, time, config } = this.#context;
    const view = this.#context.view();
    const peers = view.members.filter(
      (member) => member.process !== self.process && member.process !== process,
    );
    for (const peer of peers.slice(0, config.exitNoticesMax)) {
      const controller = new AbortController();
      const timer = time.after(config.probeTimeoutMs, () => controller.abort());
      probe
        .ask(peer, { from: self.process, view, confirm: false, exited: process }, controller.signal)
        // A peer that does not receive it waits for lease and margin instead.
        .catch(() => undefined)
        .finally(() => timer.cancel());
    }
  }
}
