import { viewNumber, type ProcessId, type ViewNumber } from '../ids/ids.js';
import { answerWithin } from '../time/within.js';
import { waitMs, type Perspective } from './perspective.js';
import type { Opposition } from './quorum.js';

interface Known {
  readonly number: ViewNumber;
  /** Latest time at which it was written, by this process's clock. */
  readonly sinceMs: number;
}

/** What is known of the processes that block a change. */
export interface Silence {
  /** When it last answered a probe; undefined if never. */
  answeredMs(process: ProcessId): number | undefined;
  /** What blocks the certainty, awaited here, that a process is gone. */
  uncertain(): Opposition;
}

const knownMax = 8;

/**
 * Most workers of a view are silent, perhaps because they confirm each other. This process then seizes a number,
 * which every confirming process reads before it goes on (the counterpart of protocol 2.5). Processes that read
 * before it was written stop when their right to act runs out; every process that has read the number, including
 * the one that seized it, may count that time from its own read.
 *
 * That time and the silence needed for a removal run in parallel, so a number is seized before the silence is
 * long enough. Seizing ends live confirming processes, so it requires that none of the blocking processes
 * answers this process, or that the whole lease has passed.
 */
export class Seizures {
  readonly #context: Perspective;
  readonly #silence: Silence;
  readonly #known: Known[] = [];
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading = false;

  constructor(context: Perspective, silence: Silence) {
    this.#context = context;
    this.#silence = silence;
  }

  /** No process acts under a view below this number: views may change without those that hold one. */
  get forViews(): ViewNumber {
    const { leaseActMs, leaseMarginMs } = this.#context.config;
    return this.#after(leaseActMs + leaseMarginMs);
  }

  /** The same after the whole lease and margin: those processes are then surely gone. */
  get forCertainty(): ViewNumber {
    return this.#after(waitMs(this.#context.config));
  }

  /** The highest known number, however recent. */
  get highest(): ViewNumber {
    return this.#known.at(-1)?.number ?? viewNumber(0);
  }

  /** Runs after each poll of the store. */
  consider(): void {
    const { time, config } = this.#context;
    if (this.#reading || time.monotonicMs() - this.#readAtMs < config.viewPollMs) return;
    if (!this.#context.mayChange()) return;
    for (const { processes, newest } of [this.#context.opposition(), this.#silence.uncertain()]) {
      if (processes.length === 0) continue;
      const silent = processes.filter((process) => !this.#renews(process));
      const isBlockedBySilent = silent.length > 0 && silent.every((process) => this.#isSilent(process));
      void this.#readOrSeize(isBlockedBySilent ? newest : undefined);
      return;
    }
    // Another process may have seized a number and died.
    if (time.monotonicMs() - this.#readAtMs >= config.seizedReadMs) void this.#readOrSeize(undefined);
  }

  #after(ageMs: number): ViewNumber {
    const nowMs = this.#context.time.monotonicMs();
    const old = this.#known.filter(({ sinceMs }) => nowMs - sinceMs >= ageMs);
    return viewNumber(old.reduce((highest, { number }) => Math.max(highest, number), 0));
  }

  /** Bound by promises from a store outage, but in contact with the store again: seizing does not end it. */
  #renews(process: ProcessId): boolean {
    const { self, observer, config } = this.#context;
    return process === self.process || observer.silentMs(process) < config.memberStoreAwayMs;
  }

  #isSilent(process: ProcessId): boolean {
    const { observer, config, time } = this.#context;
    const silentMs = observer.watchedSilenceMs(process);
    if (silentMs >= waitMs(config)) return true;
    // Those that refuse are most likely dead, and one that still renews is not ended by the seizure.
    const isRefused = this.#context.refusedMs(process) !== undefined;
    if (isRefused && silentMs >= config.earlyRemovalSilenceMs) return true;
    const answeredMs = this.#silence.answeredMs(process) ?? Number.NEGATIVE_INFINITY;
    return silentMs >= config.seizeSilenceMs && time.monotonicMs() - answeredMs > config.leaseRenewMs;
  }

  /** Reads the seized number, which others may have written; seizes one if none is above `silent`. */
  async #readOrSeize(silent: ViewNumber | undefined): Promise<void> {
    const { numbers, time, config } = this.#context;
    this.#reading = true;
    this.#readAtMs = time.monotonicMs();
    try {
      const asking = numbers.seized();
      const seized = await answerWithin(time, config.statementTimeoutMs, 'the seized view number', asking);
      this.#remember(seized);
      if (silent === undefined || seized > silent || !this.#context.mayChange()) return;
      const base = this.#context.storeView() ?? this.#context.view();
      const seizing = numbers.seize(base.number);
      const number = await answerWithin(time, config.statementTimeoutMs, 'seizing a view number', seizing);
      this.#remember(number);
      this.#context.emit({ event: 'seized', number });
    } catch (error) {
      // Without the durable store no process that may be confirming others can be removed; retried later.
      this.#context.emit({ event: 'store_failed', error });
    } finally {
      this.#reading = false;
    }
  }

  #remember(number: ViewNumber): void {
    if (number <= this.highest) return;
    this.#known.push({ number, sinceMs: this.#context.time.monotonicMs() });
    if (this.#known.length > knownMax) this.#known.shift();
  }
}
