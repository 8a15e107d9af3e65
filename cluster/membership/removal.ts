import type { ProcessId } from '../ids/ids.js';
import { within } from '../time/within.js';
import type { Lease, RemovalOutcome } from './member-store.js';
import type { Member } from './membership.js';
import { waitMs, type Perspective } from './perspective.js';

interface Refusal {
  /** The lease's count when it was refused: a renewal since then refutes the refusal. */
  readonly renewals: number;
  readonly sinceMs: number;
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

  constructor(world: Perspective) {
    this.#world = world;
  }

  /** How long its listener has been gone, as far as this process knows; nothing if it is not. */
  refusedMs(process: ProcessId): number | undefined {
    const refusal = this.#refusals.get(process);
    const lease = this.#world.observer.lastLease(process);
    if (refusal === undefined || (lease !== undefined && lease.renewals !== refusal.renewals))
      return undefined;
    return this.#world.time.monotonicMs() - refusal.sinceMs;
  }

  reportRefused(process: ProcessId): void {
    const lease = this.#world.observer.lease(process);
    if (lease === undefined || process === this.#world.self.process) return;
    if (this.#sawExit(lease.member)) return;
    if (this.#refusals.get(process)?.renewals !== lease.renewals) {
      this.#refusals.set(process, {
        renewals: lease.renewals,
        sinceMs: this.#world.time.monotonicMs(),
        asking: false,
      });
    }
    void this.#speakAgainst(process);
  }

  reportExited(process: ProcessId): void {
    const lease = this.#world.observer.lease(process);
    this.#world.gone.add(process);
    this.#tellExit(process);
    if (lease !== undefined) void this.#takeAway(lease, { voices: 1, silenceMs: 0 }, 'exited');
  }

  /** After each look at the store. */
  consider(): void {
    const { observer, config, self } = this.#world;
    for (const process of this.#refusals.keys()) {
      if (observer.lease(process) === undefined && !this.#inView(process)) this.#refusals.delete(process);
    }
    if (!this.#world.mayChange()) return;
    for (const lease of observer.leases()) {
      const { process } = lease.member;
      if (process === self.process) continue;
      const silentMs = observer.silentMs(process);
      if (silentMs >= waitMs(config)) {
        void this.#takeAway(lease, { voices: 1, silenceMs: 0 }, 'silent');
      } else if (silentMs > config.leaseRenewMs) {
        if (this.refusedMs(process) !== undefined) void this.#speakAgainst(process);
        else void this.#probe(lease.member);
      }
    }
  }

  #inView(process: ProcessId): boolean {
    return this.#world.view().members.some((member) => member.process === process);
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
    if (refusal === undefined || lease === undefined || refusal.asking || !this.#world.mayChange()) return;
    refusal.asking = true;
    const workers = this.#world.view().members.length;
    const rules = { voices: workers <= 2 ? 1 : 2, silenceMs: config.earlyRemovalSilenceMs };
    const outcome = await this.#takeAway({ ...lease, renewals: refusal.renewals }, rules, 'refused');
    refusal.asking = false;
    if (outcome?.outcome === 'too_early') {
      const waitsMs = Math.max(10, config.earlyRemovalSilenceMs - outcome.silentMs);
      time.after(waitsMs, () => void this.#speakAgainst(process));
    } else if (outcome?.outcome === 'refuted') {
      // It renewed after this process had last looked: perhaps before it died, so look and ask once more.
      this.#refusals.delete(process);
      if (await this.#world.look()) void this.#probe(lease.member);
    }
  }

  async #takeAway(
    lease: Lease,
    rules: { readonly voices: number; readonly silenceMs: number },
    because: 'refused' | 'silent' | 'exited',
  ): Promise<RemovalOutcome | undefined> {
    const { store, observer, config, time, self } = this.#world;
    const generation = observer.generation;
    if (generation === undefined || !this.#world.mayChange() || this.#world.opposition().length > 0)
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

  #tellExit(process: ProcessId): void {
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
