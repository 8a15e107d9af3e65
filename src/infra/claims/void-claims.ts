import type { Time, Timer } from '../../../cluster/index.js';
import type { Store } from '../storage/index.js';
import type { ClaimedTable } from './claimed-table.js';

/** What this process knows of the others, under the names that claims carry. */
export interface ClaimHolders {
  /** The processes in the view. */
  members(): Iterable<string>;
  /** Whether the claims of the process are void. Never reverts. */
  isGone(process: string): boolean;
}

export interface VoidClaimsParts {
  readonly store: Pick<Store, 'directory'>;
  readonly holders: ClaimHolders;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

/** A loop over claimed rows that is to find work at once. */
export interface ClaimedWork {
  readonly table: ClaimedTable;
  /** Finds work that a process left behind, claimed or only in its memory. */
  sweepNow(): void;
}

/** How soon the end of a process is noticed once membership knows of it. */
const tickMs = 200;
/** A statement that a process sent before its end may commit until its time-out, and is then found by the next search. */
const followedMs = 12_000;
const followEveryMs = 1_000;
/** Finds claims of processes that this one never knew: all nodes may have been replaced. */
const searchEveryMs = 15_000;
/** Bounds memory over years. */
const settledMax = 10_000;

/**
 * Ends the claims of processes that are gone, so that their work does not wait for the end of its holds. What the
 * process does afterwards, if it was only frozen, is refused: each end of claimed work names its claim or is written
 * under a fence.
 */
export class VoidClaims {
  readonly #parts: VoidClaimsParts;
  readonly #work: ClaimedWork[] = [];
  /** Processes that were in the view. They may leave it long before they are surely gone. */
  readonly #seen = new Set<string>();
  /** Until when the claims of a process that is gone are looked for. */
  readonly #followed = new Map<string, number>();
  readonly #settled = new Set<string>();
  #followedAtMs = Number.NEGATIVE_INFINITY;
  #searchedAtMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(parts: VoidClaimsParts) {
    this.#parts = parts;
  }

  /** Before the start. */
  add(work: ClaimedWork): void {
    this.#work.push(work);
  }

  start(): void {
    this.#tickLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #tickLater(): void {
    if (this.#stopped) return;
    this.#timer = this.#parts.time.after(tickMs, () => {
      void this.#tick()
        .catch((error: unknown) => this.#parts.report('ending the claims of processes that are gone', error))
        .finally(() => this.#tickLater());
    });
  }

  async #tick(): Promise<void> {
    const { holders, time } = this.#parts;
    const nowMs = time.monotonicMs();
    for (const process of holders.members()) this.#seen.add(process);
    let isNew = this.#follow(this.#seen, nowMs);
    if (nowMs - this.#searchedAtMs >= searchEveryMs) {
      this.#searchedAtMs = nowMs;
      if (this.#follow(await this.#holdersInStore(), nowMs)) isNew = true;
    }
    if (this.#followed.size === 0 || (!isNew && nowMs - this.#followedAtMs < followEveryMs)) return;
    this.#followedAtMs = nowMs;
    await this.#release([...this.#followed.keys()]);
    for (const [process, untilMs] of this.#followed) {
      if (nowMs < untilMs) continue;
      this.#followed.delete(process);
      this.#settled.add(process);
    }
    this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const oldest of this.#settled) {
      if (this.#settled.size <= settledMax) return;
      this.#settled.delete(oldest);
    }
  }

  /** Returns whether one of the processes is newly gone. */
  #follow(processes: Iterable<string>, nowMs: number): boolean {
    let isNew = false;
    for (const process of processes) {
      if (this.#followed.has(process) || this.#settled.has(process)) continue;
      if (!this.#parts.holders.isGone(process)) continue;
      this.#followed.set(process, nowMs + followedMs);
      this.#seen.delete(process);
      isNew = true;
    }
    return isNew;
  }

  async #holdersInStore(): Promise<readonly string[]> {
    const found = new Set<string>();
    for (const { table } of this.#work) {
      for (const process of await this.#parts.store.directory((tx) => table.holders(tx))) found.add(process);
    }
    // A claim that is still there was written too late for the searches that followed the end of its process.
    for (const process of found) this.#settled.delete(process);
    return [...found];
  }

  async #release(gone: readonly string[]): Promise<void> {
    for (const { table, sweepNow } of this.#work) {
      await this.#parts.store.directory((tx) => table.release(tx, gone));
      // Even if no claim was found: rows that were due in the process's memory wait as well.
      sweepNow();
    }
  }
}
