import { viewNumber, type ProcessId, type ViewNumber } from '../ids/ids.js';
import { within } from '../time/within.js';
import { waitMs, type Perspective } from './perspective.js';
import type { Opposition } from './quorum.js';

interface Known {
  readonly number: ViewNumber;
  /** When it was surely written, by this process's clock. */
  readonly sinceMs: number;
}

/** What is known of those that stand in the way. */
export interface Silence {
  /** When it last answered a probe; nothing if it never did. */
  answeredMs(process: ProcessId): number | undefined;
  /** What stands in the way of the certainty, for which somebody here waits, that a process is gone. */
  uncertain(): Opposition;
}

const knownMax = 8;

/**
 * Most workers of a view are silent, perhaps because they confirm each other. A number is then seized, which
 * whoever confirms reads before it goes on (protocol 2.5, from the other side): those who asked before it was
 * written stop when their right to act runs out, and whoever has read the number, be it the one that seized it
 * or another, may count that time from its own reading.
 *
 * The time of silence that a removal takes and this time run side by side, which is why a number is seized
 * before the silence is long enough. Seizing ends confirming processes that live, so it is only done when not
 * one of those that stand in the way answers this process, or when the whole lease has passed.
 */
export class Seizures {
  readonly #world: Perspective;
  readonly #silence: Silence;
  readonly #known: Known[] = [];
  #askedMs = Number.NEGATIVE_INFINITY;
  #asking = false;

  constructor(world: Perspective, silence: Silence) {
    this.#world = world;
    this.#silence = silence;
  }

  /** Nobody acts under a view below this number: views may change without those who hold it. */
  get forViews(): ViewNumber {
    const { leaseActMs, leaseMarginMs } = this.#world.config;
    return this.#after(leaseActMs + leaseMarginMs);
  }

  /** The same after the whole lease and margin: then they are surely gone. */
  get forCertainty(): ViewNumber {
    return this.#after(waitMs(this.#world.config));
  }

  /** The highest that is known, however young. */
  get highest(): ViewNumber {
    return this.#known.at(-1)?.number ?? viewNumber(0);
  }

  /** After each look at the store. */
  consider(): void {
    const { time, config } = this.#world;
    if (this.#asking || time.monotonicMs() - this.#askedMs < config.viewPollMs) return;
    if (!this.#world.mayChange()) return;
    for (const { processes, newest } of [this.#world.opposition(), this.#silence.uncertain()]) {
      if (processes.length === 0) continue;
      const silent = processes.filter((process) => !this.#renews(process));
      const isOver = silent.length > 0 && silent.every((process) => this.#isSilent(process));
      void this.#ask(isOver ? newest : undefined);
      return;
    }
    // Another may have seized one and died.
    if (time.monotonicMs() - this.#askedMs >= config.seizedReadMs) void this.#ask(undefined);
  }

  #after(ageMs: number): ViewNumber {
    const nowMs = this.#world.time.monotonicMs();
    const old = this.#known.filter(({ sinceMs }) => nowMs - sinceMs >= ageMs);
    return viewNumber(old.reduce((highest, { number }) => Math.max(highest, number), 0));
  }

  /** Bound by what it promised while the store was away, but no longer without it: seizing does not end it. */
  #renews(process: ProcessId): boolean {
    const { self, observer, config } = this.#world;
    return process === self.process || observer.silentMs(process) < config.memberStoreAwayMs;
  }

  #isSilent(process: ProcessId): boolean {
    const { observer, config, time } = this.#world;
    const silentMs = observer.watchedSilenceMs(process);
    if (silentMs >= waitMs(config)) return true;
    const answeredMs = this.#silence.answeredMs(process) ?? Number.NEGATIVE_INFINITY;
    return silentMs >= config.seizeSilenceMs && time.monotonicMs() - answeredMs > config.leaseRenewMs;
  }

  /** Reads the number, which others may have seized; seizes one above `silent` if there is none yet. */
  async #ask(silent: ViewNumber | undefined): Promise<void> {
    const { numbers, time, config } = this.#world;
    this.#asking = true;
    this.#askedMs = time.monotonicMs();
    try {
      const asking = numbers.seized();
      const seized = await within(time, config.statementTimeoutMs, 'the seized view number', asking);
      this.#note(seized);
      if (silent === undefined || seized > silent || !this.#world.mayChange()) return;
      const base = this.#world.storeView() ?? this.#world.view();
      const seizing = numbers.seize(base.number);
      const number = await within(time, config.statementTimeoutMs, 'seizing a view number', seizing);
      this.#note(number);
      this.#world.tell({ event: 'seized', number });
    } catch (error) {
      // Without the durable store nobody can be removed who may be confirming others; it is asked again.
      this.#world.tell({ event: 'store_failed', error });
    } finally {
      this.#asking = false;
    }
  }

  #note(number: ViewNumber): void {
    if (number <= this.highest) return;
    this.#known.push({ number, sinceMs: this.#world.time.monotonicMs() });
    if (this.#known.length > knownMax) this.#known.shift();
  }
}
