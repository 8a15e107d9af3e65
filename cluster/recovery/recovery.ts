import type { ClusterConfig } from '../config.js';
import type { ProcessId, Slot } from '../ids/ids.js';
import { SlotSet } from '../ring/slot-set.js';
import type { Ring } from '../ring/ring.js';
import { backoffMs } from '../time/backoff.js';
import type { Random, Time, Timer } from '../time/time.js';

/** A row of unfinished work. */
export interface UnfinishedWork {
  readonly id: string;
  readonly slot: Slot;
  /** Number of take-ups so far. */
  readonly attempts: number;
}

/** Finds unfinished work and takes it up; the rows belong to the kind. */
export interface RecoverySource<Work extends UnfinishedWork> {
  /**
   * Due work of these slots, oldest first. Suited to the SQL condition `get_bit($1, slot) = 1` with `slots.bytes()`.
   * `beyond`: the last row of a full answer; the next answer begins behind it.
   */
  unfinished(slots: SlotSet, limit: number, beyond?: Work): Promise<readonly Work[]>;
  /**
   * Raises the attempt count in a transaction of its own before anything else runs, so that work that kills its
   * process is counted. Undefined if the work is finished or no longer due; otherwise the new count.
   */
  takeUp(work: Work): Promise<number | undefined>;
  /** Usually a call to the actor that owns the work: the call is a hint, the row is the work. */
  run(work: Work, attempt: number): Promise<void>;
  /** Ends work that was taken up too often, for good. */
  giveUp(work: Work): Promise<void>;
}

/** Reports a failed request to a source; the scan or the work is retried without further action. */
export type SourceFailed<Asked extends string> = (asked: Asked, error: unknown) => void;

export type RecoveryQuestion = 'unfinished' | 'takeUp' | 'run' | 'giveUp';

/** What recovery needs from the node. */
export interface RecoveryNode {
  readonly process: ProcessId;
  readonly ring: Ring;
  owns(slot: Slot): boolean;
  mayAct(): boolean;
  onRing(listener: (ring: Ring, before: Ring) => void): () => void;
}

export interface RecoveryCounts {
  readonly looks: number;
  readonly takenUp: number;
  readonly givenUp: number;
  readonly failures: number;
}

/**
 * Finds unfinished work in the slots of this node (protocol 6): on gaining slots; again once every older lease and
 * statement must be over, because another actor may commit work for a slot just after its new owner's scan; and then
 * periodically for ever; a full look is followed by the next as soon as its rows have begun. First attempts run a few at
 * a time, repeats one at a time after a growing pause: a turn that kills its process must not kill the cluster.
 */
export class Recovery<Work extends UnfinishedWork> {
  readonly #node: RecoveryNode;
  readonly #source: RecoverySource<Work>;
  readonly #config: ClusterConfig;
  readonly #time: Time;
  readonly #random: Random;
  readonly #failed: SourceFailed<RecoveryQuestion>;
  readonly #takenUp = new Set<string>();
  readonly #fresh: Work[] = [];
  readonly #repeats: Work[] = [];
  readonly #timers = new Set<Timer>();
  readonly #counts = { looks: 0, takenUp: 0, givenUp: 0, failures: 0 };
  /** The last row of a full look: there may be more rows behind it. */
  #beyond: Work | undefined;
  #running = 0;
  #repeating = false;
  #scanning = false;
  #scanAgain = false;
  #stopped = false;
  #unsubscribe: (() => void) | undefined;

  constructor(
    node: RecoveryNode,
    source: RecoverySource<Work>,
    config: ClusterConfig,
    time: Time,
    random: Random,
    failed: SourceFailed<RecoveryQuestion>,
  ) {
    this.#node = node;
    this.#source = source;
    this.#config = config;
    this.#time = time;
    this.#random = random;
    this.#failed = failed;
  }

  /** First attempts, and repeats, that wait for their turn. */
  get waiting(): { readonly fresh: number; readonly repeats: number } {
    return { fresh: this.#fresh.length, repeats: this.#repeats.length };
  }

  get counts(): RecoveryCounts {
    return { ...this.#counts };
  }

  start(): void {
    this.#unsubscribe = this.#node.onRing((ring, before) => this.#onRing(ring, before));
    // A cold start has many views in a row; the first scan waits until one is stable.
    this.#scanLater(this.#config.recoveryStableViewMs);
    this.#scanLater(this.#secondScanMs());
    this.#sweepLater();
  }

  /** Takes up no further work; running work continues. */
  stop(): void {
    this.#stopped = true;
    this.#unsubscribe?.();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#fresh.length = 0;
    this.#repeats.length = 0;
  }

  /** Work was written for a slot of this node: scan now. */
  hint(): void {
    void this.#scan();
  }

  #onRing(ring: Ring, before: Ring): void {
    const wasCold = before.view.members.length === 0;
    const gained = SlotSet.ownedBy(this.#node.process, ring).without(
      SlotSet.ownedBy(this.#node.process, before),
    );
    if (gained.size === 0) return;
    this.#scanLater(wasCold ? this.#config.recoveryStableViewMs : 0);
    this.#scanLater(this.#secondScanMs());
  }

  #secondScanMs(): number {
    return this.#config.leaseMs + this.#config.leaseMarginMs + this.#config.statementTimeoutMs;
  }

  #sweepLater(): void {
    // Random, so that nodes that started together do not query the store together.
    const delayMs = this.#config.recoverySweepMs * (0.75 + this.#random.fraction() / 2);
    this.#after(delayMs, () => {
      void this.#scan();
      this.#sweepLater();
    });
  }

  #scanLater(delayMs: number): void {
    this.#after(delayMs, () => void this.#scan());
  }

  #after(delayMs: number, action: () => void): void {
    const timer = this.#time.after(delayMs, () => {
      this.#timers.delete(timer);
      if (!this.#stopped) action();
    });
    this.#timers.add(timer);
  }

  /** From the oldest row on, or behind the last row of a full look. */
  async #scan(beyond?: Work): Promise<void> {
    if (this.#scanning || this.#fresh.length > 0) {
      this.#scanAgain = true;
      return;
    }
    this.#scanning = true;
    do {
      this.#scanAgain = false;
      await this.#scanOnce(beyond);
      beyond = undefined;
    } while (this.#scanAgain && this.#fresh.length === 0 && !this.#stopped);
    this.#scanning = false;
    this.#scanOn();
  }

  /** The next look waits until the rows of the last one have begun, so that at most one look is in memory. */
  #scanOn(): void {
    if (this.#fresh.length > 0 || this.#scanning || this.#stopped) return;
    const beyond = this.#beyond;
    this.#beyond = undefined;
    if (beyond !== undefined || this.#scanAgain) void this.#scan(beyond);
  }

  async #scanOnce(beyond: Work | undefined): Promise<void> {
    const slots = SlotSet.ownedBy(this.#node.process, this.#node.ring);
    if (this.#stopped || slots.size === 0 || !this.#node.mayAct()) return;
    this.#counts.looks += 1;
    try {
      const limit = this.#config.recoveryBatch;
      const found = await this.#source.unfinished(slots, limit, beyond);
      for (const work of found) {
        if (this.#takenUp.has(work.id) || !this.#node.owns(work.slot)) continue;
        // A later sweep finds the repeats that are left out; they run one at a time.
        if (work.attempts > 0 && this.#repeats.length >= limit) continue;
        this.#takenUp.add(work.id);
        (work.attempts === 0 ? this.#fresh : this.#repeats).push(work);
      }
      const last = found.at(-1);
      if (found.length >= limit && last?.id !== beyond?.id) this.#beyond = last;
      this.#next();
    } catch (error) {
      // The store is unreachable or the query failed; the sweep retries.
      this.#reportFailure('unfinished', error);
    }
  }

  #next(): void {
    while (this.#running < this.#config.recoveryConcurrency) {
      const work = this.#fresh.shift();
      if (work === undefined) break;
      this.#running += 1;
      void this.#handle(work).finally(() => {
        this.#running -= 1;
        this.#next();
      });
    }
    this.#scanOn();
    if (this.#repeating) return;
    const work = this.#repeats.shift();
    if (work === undefined) return;
    this.#repeating = true;
    const backoff = { baseMs: this.#config.recoveryRetryMs, maxMs: this.#config.recoveryRetryMaxMs };
    this.#after(backoffMs(work.attempts - 1, backoff, this.#random), () => {
      void this.#handle(work).finally(() => {
        this.#repeating = false;
        this.#next();
      });
    });
  }

  /** Never rejects. */
  async #handle(work: Work): Promise<void> {
    let asked: RecoveryQuestion = 'takeUp';
    try {
      if (this.#stopped || !this.#node.owns(work.slot) || !this.#node.mayAct()) return;
      const attempt = await this.#source.takeUp(work);
      if (attempt === undefined) return;
      if (attempt > this.#config.recoveryAttempts) {
        this.#counts.givenUp += 1;
        asked = 'giveUp';
        await this.#source.giveUp(work);
        return;
      }
      this.#counts.takenUp += 1;
      asked = 'run';
      await this.#source.run(work, attempt);
    } catch (error) {
      // The row is still unfinished: a later scan finds it with its raised count.
      this.#reportFailure(asked, error);
      this.#scanLater(this.#config.recoveryRetryMs);
    } finally {
      this.#takenUp.delete(work.id);
    }
  }

  #reportFailure(asked: RecoveryQuestion, error: unknown): void {
    this.#counts.failures += 1;
    this.#failed(asked, error);
  }
}
