import { viewNumber, type ProcessId, type ViewNumber } from '../ids/ids.js';
import type { Snapshot, StoredLease } from './member-store.js';

/** When a store read was sent and when its answer arrived, by the observer's monotonic clock. */
export interface Poll {
  readonly startedMs: number;
  readonly receivedMs: number;
  /** It was a renewal: the generation was compared with the newest after its start. */
  readonly isCompared: boolean;
}

interface Track {
  lease: StoredLease;
  /** Arrival of the answer that first showed this renewal count. */
  changedMs: number;
  /** Start of the last poll that still showed an earlier count; undefined at first sight. */
  earlierMs: number | undefined;
  /** When its lease was first missing; undefined while it is present. */
  vanishedMs: number | undefined;
}

/**
 * What one process knows of the others, by its own clock alone.
 *
 * If an answer received at R shows a new renewal count, and a poll sent at S still shows it, the lease was not
 * renewed for at least S − R. All silence is measured this way, between successful polls, so a paused or cut-off
 * observer only waits longer. A new generation mark restarts the measurement: leases that vanished with the old
 * generation prove nothing.
 */
export class Observer {
  readonly #tracks = new Map<ProcessId, Track>();
  readonly #holds = new Map<ProcessId, ViewNumber>();
  readonly #heldFree = new Map<ProcessId, ViewNumber>();
  /** Kept over generations: a process that left never returns under the same id. */
  readonly #departed = new Map<ProcessId, { readonly seenMs: number; readonly promisedMs: number }>();
  readonly #tracksMax: number;
  #generation: string | undefined;
  #generationMs = 0;
  #storedGenerationAgeMs = 0;
  #last: Poll | undefined;
  /** Start of the last one that was compared. */
  #comparedMs = Number.NEGATIVE_INFINITY;
  /** When processes without a lease in this generation were first asked for. */
  readonly #unseen = new Map<ProcessId, number>();
  #observingSinceMs = 0;
  readonly #gapMs: number;
  readonly #nowMs: () => number;

  /** `gapMs`: polls further apart than this do not count as continuous observation. */
  constructor(gapMs: number, nowMs: () => number, tracksMax = 10_000) {
    this.#gapMs = gapMs;
    this.#nowMs = nowMs;
    this.#tracksMax = tracksMax;
  }

  /** Answers may arrive out of order; one that was requested before the last is skipped. */
  observe(snapshot: Snapshot, poll: Poll): { readonly newGeneration: boolean } | undefined {
    if (this.#last !== undefined && poll.startedMs < this.#last.startedMs) return undefined;
    if (this.#last === undefined || poll.startedMs - this.#last.startedMs > this.#gapMs) {
      this.#observingSinceMs = poll.startedMs;
    }
    const newGeneration = snapshot.generation !== this.#generation;
    if (newGeneration) {
      this.#generation = snapshot.generation;
      this.#generationMs = poll.receivedMs;
      this.#tracks.clear();
      this.#unseen.clear();
    }
    this.#storedGenerationAgeMs = snapshot.generationAgeMs;
    const present = new Set<ProcessId>();
    for (const lease of snapshot.leases) {
      present.add(lease.member.process);
      this.#recordLease(lease, poll);
    }
    for (const [process, track] of this.#tracks) {
      track.vanishedMs = present.has(process) ? undefined : (track.vanishedMs ?? poll.receivedMs);
    }
    for (const { process, promisedMs } of snapshot.departed) this.#recordDeparture(process, promisedMs, poll);
    this.#forgetOldest();
    this.#last = poll;
    if (poll.isCompared) this.#comparedMs = poll.startedMs;
    return { newGeneration };
  }

  #recordLease(lease: StoredLease, poll: Poll): void {
    this.#holds.set(lease.member.process, lease.holds);
    if (lease.promisedMs === 0) this.#heldFree.set(lease.member.process, lease.holds);
    const track = this.#tracks.get(lease.member.process);
    if (track === undefined) {
      this.#unseen.delete(lease.member.process);
      const changedMs = poll.receivedMs;
      this.#tracks.set(lease.member.process, {
        lease,
        changedMs,
        earlierMs: undefined,
        vanishedMs: undefined,
      });
      return;
    }
    if (lease.renewals !== track.lease.renewals) {
      track.changedMs = poll.receivedMs;
      track.earlierMs = this.#last?.startedMs;
    }
    track.lease = lease;
  }

  /** Bounds memory over years: leases that vanished long ago are recognized by their absence. */
  #forgetOldest(): void {
    // Those of an earlier generation have no track.
    for (const process of this.#holds.keys()) {
      if (this.#holds.size <= this.#tracks.size + this.#tracksMax) break;
      if (this.#tracks.has(process)) continue;
      this.#holds.delete(process);
      this.#heldFree.delete(process);
    }
    for (const [process, track] of this.#tracks) {
      if (this.#tracks.size <= this.#tracksMax) return;
      if (track.vanishedMs === undefined) continue;
      this.#tracks.delete(process);
      this.#holds.delete(process);
      this.#heldFree.delete(process);
    }
  }

  #recordDeparture(process: ProcessId, promisedMs: number, poll: Poll): void {
    if (this.#departed.has(process)) return;
    this.#departed.set(process, { seenMs: poll.receivedMs, promisedMs });
    for (const oldest of this.#departed.keys()) {
      if (this.#departed.size <= this.#tracksMax) return;
      this.#departed.delete(oldest);
    }
  }

  get generation(): string | undefined {
    return this.#generation;
  }

  /** How long this process has observed the current generation. */
  get generationAgeMs(): number {
    return this.#last === undefined ? 0 : this.#last.startedMs - this.#generationMs;
  }

  /** Age of the generation by the store's clock. It may speed up a newcomer's decision, but proves nothing. */
  get storedGenerationAgeMs(): number {
    return this.#storedGenerationAgeMs;
  }

  leases(): StoredLease[] {
    const found: StoredLease[] = [];
    for (const track of this.#tracks.values()) if (track.vanishedMs === undefined) found.push(track.lease);
    return found;
  }

  lease(process: ProcessId): StoredLease | undefined {
    const track = this.#tracks.get(process);
    return track !== undefined && track.vanishedMs === undefined ? track.lease : undefined;
  }

  /** The lease as last seen in this generation, even if it has vanished since. */
  lastLease(process: ProcessId): StoredLease | undefined {
    return this.#tracks.get(process)?.lease;
  }

  /** Time since the lease vanished in this generation: removed by others or released by its process. */
  vanishedMs(process: ProcessId): number | undefined {
    const vanishedMs = this.#tracks.get(process)?.vanishedMs;
    if (vanishedMs === undefined || this.#last === undefined) return undefined;
    return this.#last.receivedMs - vanishedMs;
  }

  /** Its departure record says that it has stopped. */
  hasDeparted(process: ProcessId): boolean {
    return this.#departed.has(process);
  }

  /** It has departed, and its promises to others have expired too; `marginMs` covers clock drift. */
  isUnbound(process: ProcessId, nowMs: number, marginMs: number): boolean {
    const departed = this.#departed.get(process);
    if (departed === undefined) return false;
    return departed.promisedMs === 0 || nowMs - departed.seenMs >= departed.promisedMs + marginMs;
  }

  /** All that have departed and are bound by no promise. */
  unbound(nowMs: number, marginMs: number): ProcessId[] {
    return [...this.#departed.keys()].filter((process) => this.isUnbound(process, nowMs, marginMs));
  }

  /** The view that it last reported to hold, in any generation. */
  holds(process: ProcessId): ViewNumber {
    return this.#holds.get(process) ?? viewNumber(0);
  }

  /** The view that it held when it last said that it was bound by no promise: it confirms nobody in an older one. */
  heldFree(process: ProcessId): ViewNumber {
    return this.#heldFree.get(process) ?? viewNumber(0);
  }

  /**
   * Lower bound of the time without a renewal. A process without a lease in this generation counts as silent since the
   * generation began; one never seen at all, only once a renewal that started after the first question for it does
   * not show it: it may have just joined.
   */
  silentMs(process: ProcessId): number {
    if (this.#last === undefined) return 0;
    const track = this.#tracks.get(process);
    if (track !== undefined) return this.#last.startedMs - track.changedMs;
    const wasSeen = this.#holds.has(process);
    return wasSeen || this.#isMissed(process) ? this.#last.startedMs - this.#generationMs : 0;
  }

  /**
   * A renewal that started after the question does not show it. Answers that came since may be from before it joined, and
   * those of polls from a former master of the store, in whose generation it never was.
   */
  #isMissed(process: ProcessId): boolean {
    const askedMs = this.#unseen.get(process);
    if (askedMs !== undefined) return this.#comparedMs > askedMs;
    if (this.#unseen.size >= this.#tracksMax) this.#unseen.clear();
    this.#unseen.set(process, this.#nowMs());
    return false;
  }

  /**
   * The same, without time in which this process could not poll; otherwise the first process to reach the store again
   * would take all others for silent.
   */
  watchedSilenceMs(process: ProcessId): number {
    if (this.#last === undefined) return 0;
    return Math.min(this.silentMs(process), this.#last.startedMs - this.#observingSinceMs);
  }

  /**
   * Whether the process cannot be confirming any other at `nowMs`: it renewed after the start of a poll that is more
   * recent than the time a process waits before it confirms, and had promised nothing then. A renewal says what was
   * true when it was sent, so the time until it was executed does not count.
   */
  isFree(process: ProcessId, nowMs: number, awayMs: number): boolean {
    const track = this.#tracks.get(process);
    if (track?.earlierMs === undefined || track.vanishedMs !== undefined) return false;
    return track.lease.promisedMs === 0 && nowMs < track.earlierMs + awayMs - track.lease.lateMs;
  }
}
