import { viewNumber, type ProcessId, type ViewNumber } from '../ids/ids.js';
import type { Lease, Snapshot } from './member-store.js';

/** When an answer of the store was asked for and when it came, by the observer's monotonic clock. */
export interface Look {
  readonly startedMs: number;
  readonly receivedMs: number;
}

interface Track {
  lease: Lease;
  /** Receipt of the answer that first showed this count of renewals. */
  changedMs: number;
  /** Start of the last look that still showed an earlier count; unknown at first sight. */
  earlierMs: number | undefined;
  /** When its lease was first found missing; nothing while it is there. */
  vanishedMs: number | undefined;
}

/**
 * What one process knows of the others, by its own clock alone.
 *
 * A lease that showed a new count in an answer received at R, and still shows it in one asked for at S, was
 * not renewed for at least S − R: all silence is measured so, between looks that succeeded, and a paused or
 * cut-off observer only waits longer. A new generation mark begins all over: what vanished with the old one
 * proves nothing.
 */
export class Observer {
  readonly #tracks = new Map<ProcessId, Track>();
  readonly #holds = new Map<ProcessId, ViewNumber>();
  /** Never forgotten with a generation: who left under its id does not come back under it. */
  readonly #departed = new Map<ProcessId, { readonly seenMs: number; readonly promisedMs: number }>();
  readonly #tracksMax: number;
  #generation: string | undefined;
  #generationMs = 0;
  #storedGenerationAgeMs = 0;
  #last: Look | undefined;
  #lookingSinceMs = 0;
  readonly #gapMs: number;

  /** `gapMs`: looks further apart than this are not one uninterrupted looking. */
  constructor(gapMs: number, tracksMax = 10_000) {
    this.#gapMs = gapMs;
    this.#tracksMax = tracksMax;
  }

  /** Answers may overtake each other; one that was asked for earlier than the last is passed over. */
  observe(snapshot: Snapshot, look: Look): { readonly newGeneration: boolean } | undefined {
    if (this.#last !== undefined && look.startedMs < this.#last.startedMs) return undefined;
    if (this.#last === undefined || look.startedMs - this.#last.startedMs > this.#gapMs) {
      this.#lookingSinceMs = look.startedMs;
    }
    const newGeneration = snapshot.generation !== this.#generation;
    if (newGeneration) {
      this.#generation = snapshot.generation;
      this.#generationMs = look.receivedMs;
      this.#tracks.clear();
    }
    this.#storedGenerationAgeMs = snapshot.generationAgeMs;
    const present = new Set<ProcessId>();
    for (const lease of snapshot.leases) {
      present.add(lease.member.process);
      this.#see(lease, look);
    }
    for (const [process, track] of this.#tracks) {
      track.vanishedMs = present.has(process) ? undefined : (track.vanishedMs ?? look.receivedMs);
    }
    for (const { process, promisedMs } of snapshot.departed) this.#hear(process, promisedMs, look);
    this.#forgetOldest();
    this.#last = look;
    return { newGeneration };
  }

  #see(lease: Lease, look: Look): void {
    this.#holds.set(lease.member.process, lease.holds);
    const track = this.#tracks.get(lease.member.process);
    if (track === undefined) {
      const changedMs = look.receivedMs;
      this.#tracks.set(lease.member.process, {
        lease,
        changedMs,
        earlierMs: undefined,
        vanishedMs: undefined,
      });
      return;
    }
    if (lease.renewals !== track.lease.renewals) {
      track.changedMs = look.receivedMs;
      track.earlierMs = this.#last?.startedMs;
    }
    track.lease = lease;
  }

  /** Processes come and go for years; those that vanished long ago are known by their absence. */
  #forgetOldest(): void {
    for (const [process, track] of this.#tracks) {
      if (this.#tracks.size <= this.#tracksMax) return;
      if (track.vanishedMs === undefined) continue;
      this.#tracks.delete(process);
      this.#holds.delete(process);
    }
  }

  #hear(process: ProcessId, promisedMs: number, look: Look): void {
    if (this.#departed.has(process)) return;
    this.#departed.set(process, { seenMs: look.receivedMs, promisedMs });
    for (const oldest of this.#departed.keys()) {
      if (this.#departed.size <= this.#tracksMax) return;
      this.#departed.delete(oldest);
    }
  }

  get generation(): string | undefined {
    return this.#generation;
  }

  /** How long this generation has been looked at. */
  get generationAgeMs(): number {
    return this.#last === undefined ? 0 : this.#last.startedMs - this.#generationMs;
  }

  /** How old it is by the store's clock, which may hasten what a newcomer would find out by looking, and proves nothing. */
  get storedGenerationAgeMs(): number {
    return this.#storedGenerationAgeMs;
  }

  leases(): Lease[] {
    const found: Lease[] = [];
    for (const track of this.#tracks.values()) if (track.vanishedMs === undefined) found.push(track.lease);
    return found;
  }

  lease(process: ProcessId): Lease | undefined {
    const track = this.#tracks.get(process);
    return track !== undefined && track.vanishedMs === undefined ? track.lease : undefined;
  }

  /** As last seen under this generation, even if it has gone since. */
  lastLease(process: ProcessId): Lease | undefined {
    return this.#tracks.get(process)?.lease;
  }

  /** Since somebody, or the process itself, took the lease away under this generation. */
  vanishedMs(process: ProcessId): number | undefined {
    const vanishedMs = this.#tracks.get(process)?.vanishedMs;
    if (vanishedMs === undefined || this.#last === undefined) return undefined;
    return this.#last.receivedMs - vanishedMs;
  }

  /** By its own word it acts no more. */
  hasDeparted(process: ProcessId): boolean {
    return this.#departed.has(process);
  }

  /** And what it had promised to others is over as well; `marginMs` covers the difference of two clocks. */
  isUnbound(process: ProcessId, nowMs: number, marginMs: number): boolean {
    const departed = this.#departed.get(process);
    if (departed === undefined) return false;
    return departed.promisedMs === 0 || nowMs - departed.seenMs >= departed.promisedMs + marginMs;
  }

  /** The view that it last said to hold, under any generation. */
  holds(process: ProcessId): ViewNumber {
    return this.#holds.get(process) ?? viewNumber(0);
  }

  /** Without a renewal for at least so long. One that was never seen is silent since the generation began. */
  silentMs(process: ProcessId): number {
    if (this.#last === undefined) return 0;
    return this.#last.startedMs - (this.#tracks.get(process)?.changedMs ?? this.#generationMs);
  }

  /**
   * The same, but not counting a time in which this process itself could not look: whoever comes back to the
   * store first would else take all others for silent.
   */
  watchedSilenceMs(process: ProcessId): number {
    if (this.#last === undefined) return 0;
    return Math.min(this.silentMs(process), this.#last.startedMs - this.#lookingSinceMs);
  }

  /**
   * Whether the process cannot be confirming anybody at `nowMs`: it renewed after the start of a look not
   * longer ago than a process waits before it confirms, and was then bound by nothing.
   */
  isFree(process: ProcessId, nowMs: number, awayMs: number): boolean {
    const track = this.#tracks.get(process);
    if (track?.earlierMs === undefined || track.vanishedMs !== undefined) return false;
    return track.lease.promisedMs === 0 && nowMs < track.earlierMs + awayMs;
  }
}
