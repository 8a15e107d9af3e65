import type { ClusterConfig } from '../config.js';
import type { ProcessId, Slot } from '../ids/ids.js';
import { SlotSet } from '../ring/slot-set.js';
import type { Ring } from '../ring/ring.js';
import { backoffMs } from '../time/backoff.js';
import type { Random, Time, Timer } from '../time/time.js';

/** A row that stands for unfinished work. */
export interface UnfinishedWork {
  readonly id: string;
  readonly slot: Slot;
  /** Take-ups so far. */
  readonly attempts: number;
}

/** Where unfinished work is found and taken up; the rows are the kind's own. */
export interface RecoverySource<Work extends UnfinishedWork> {
  /** Work of these slots that is due, oldest first. `slots.bytes()` goes well with `get_bit($1, slot) = 1`. */
  unfinished(slots: SlotSet, limit: number): Promise<readonly Work[]>;
  /**
   * Raises the attempt count in a transaction of its own, before anything else runs: work that ends its
   * process must be counted. Undefined when it is finished or no longer due; else the count now.
   */
  takeUp(work: Work): Promise<number | undefined>;
  /** Mostly a call to the actor that owns the work: the call is a hint, the row is the work. */
  run(work: Work, attempt: number): Promise<void>;
  /** Ends work that was taken up too often, once for all. */
  giveUp(work: Work): Promise<void>;
}

/** Hears what a source was asked, and why it could not answer: the look or the work comes again by itself. */
export type SourceFailed<Asked extends string> = (asked: Asked, error: unknown) => void;

export type RecoveryQuestion = 'unfinished' | 'takeUp' | 'run' | 'giveUp';

/** What recovery needs of the node. */
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
 * Finds unfinished work of the slots that this node owns (protocol 6): on gaining slots, again when every
 * older lease and statement must be over, since another actor may commit work for a slot just after its new
 * owner looked, and then slowly and for ever. First attempts run a few at a time, repeats one at a time and
 * after a growing pause: a turn that kills its process must not kill the cluster.
 */
export class Recovery<Work extends UnfinishedWork> {
  readonly #node: RecoveryNode;
  readonly #source: RecoverySource<Work>;
  readonly #config: ClusterConfig;
  readonly #time: Time;
  readonly #random: Random;
  readonly #failed: SourceFailed<RecoveryQuestion>;
  readonly #inHand = new Set<string>();
  readonly #fresh: Work[] = [];
  readonly #repeats: Work[] = [];
  readonly #timers = new Set<Timer>();
  readonly #counts = { looks: 0, takenUp: 0, givenUp: 0, failures: 0 };
  #running = 0;
  #repeating = false;
  #looking = false;
  #lookAgain = false;
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

  get counts(): RecoveryCounts {
    return { ...this.#counts };
  }

  start(): void {
    this.#unsubscribe = this.#node.onRing((ring, before) => this.#onRing(ring, before));
    // A cold start has many views in a row; the first look waits until one has stood.
    this.#lookLater(this.#config.recoveryStandMs);
    this.#lookLater(this.#secondLookMs());
    this.#sweepLater();
  }

  /** Takes up nothing more; what runs goes on. */
  stop(): void {
    this.#stopped = true;
    this.#unsubscribe?.();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#fresh.length = 0;
    this.#repeats.length = 0;
  }

  /** Work was written for a slot of this node: no need to wait for the next look. */
  hint(): void {
    void this.#look();
  }

  #onRing(ring: Ring, before: Ring): void {
    const wasCold = before.view.members.length === 0;
    const gained = SlotSet.ownedBy(this.#node.process, ring).without(
      SlotSet.ownedBy(this.#node.process, before),
    );
    if (gained.size === 0) return;
    this.#lookLater(wasCold ? this.#config.recoveryStandMs : 0);
    this.#lookLater(this.#secondLookMs());
  }

  #secondLookMs(): number {
    return this.#config.leaseMs + this.#config.leaseMarginMs + this.#config.statementTimeoutMs;
  }

  #sweepLater(): void {
    // Nodes that started together do not ask the store together.
    const delayMs = this.#config.recoverySweepMs * (0.75 + this.#random.fraction() / 2);
    this.#after(delayMs, () => {
      void this.#look();
      this.#sweepLater();
    });
  }

  #lookLater(delayMs: number): void {
    this.#after(delayMs, () => void this.#look());
  }

  #after(delayMs: number, action: () => void): void {
    const timer = this.#time.after(delayMs, () => {
      this.#timers.delete(timer);
      if (!this.#stopped) action();
    });
    this.#timers.add(timer);
  }

  async #look(): Promise<void> {
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = true;
    do {
      this.#lookAgain = false;
      await this.#lookOnce();
    } while (this.#lookAgain && !this.#stopped);
    this.#looking = false;
  }

  async #lookOnce(): Promise<void> {
    const slots = SlotSet.ownedBy(this.#node.process, this.#node.ring);
    if (this.#stopped || slots.size === 0 || !this.#node.mayAct()) return;
    this.#counts.looks += 1;
    try {
      const found = await this.#source.unfinished(slots, this.#config.recoveryBatch);
      for (const work of found) {
        if (this.#inHand.has(work.id) || !this.#node.owns(work.slot)) continue;
        this.#inHand.add(work.id);
        (work.attempts === 0 ? this.#fresh : this.#repeats).push(work);
      }
      this.#next();
    } catch (error) {
      // The store is away, or the query is wrong; the sweep asks again.
      this.#fail('unfinished', error);
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
      // The row still says unfinished: a later look finds it with its raised count.
      this.#fail(asked, error);
      this.#lookLater(this.#config.recoveryRetryMs);
    } finally {
      this.#inHand.delete(work.id);
    }
  }

  #fail(asked: RecoveryQuestion, error: unknown): void {
    this.#counts.failures += 1;
    this.#failed(asked, error);
  }
}
