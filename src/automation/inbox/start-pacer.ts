import type { Time, Timer } from '../../../cluster/index.js';
import { FairLimiter, type FairLimiterLimits } from '../../kernel/fair-limiter.js';

export interface StartPacerParts<Turn> {
  readonly time: Time;
  readonly limits: FairLimiterLimits;
  readonly begin: (turn: Turn) => void;
}

/**
 * A tenant with fewer running turns than this, or than the mean of all tenants, starts immediately: only a burst is
 * paced.
 */
const sharePacedAbove = 4;
/** If nothing waits, up to this many start at once. */
const atOnceMax = 8;
const everyMs = 20;
/** Timer lateness that counts as load: about as long as other requests wait beside a burst. */
const latenessMaxMs = 5;
/**
 * How many start per tick. The pace grows by a step while the event loop is on time, and shrinks by a factor while it
 * is late, so that turns bound by the CPU leave room for requests. The minimum is ten a second, since turns that wait
 * for a model cost nothing, even if other work makes the loop late.
 */
const pace = { least: 0.2, first: 8, most: 40, more: 0.4, less: 0.7 };

/**
 * Paces the start of turns that no caller waits for. Turns that wait seconds for a model are cheap, but a thousand
 * CPU-bound turns that start together would delay all other requests. The pace grows while the pacing timer fires on
 * time and shrinks while it is late.
 */
export class StartPacer<Turn> {
  readonly #parts: StartPacerParts<Turn>;
  readonly #limiter: FairLimiter<Turn>;
  #timer: Timer | undefined;
  #pace = pace.first;
  /** The fraction of a turn left over from earlier ticks. */
  #credit = 0;

  constructor(parts: StartPacerParts<Turn>) {
    this.#parts = parts;
    this.#limiter = new FairLimiter(parts.limits);
  }

  get free(): number {
    return this.#limiter.free;
  }

  get waitingCount(): number {
    return this.#limiter.waitingCount;
  }

  ask(share: string, turn: Turn): void {
    const isFew = this.#limiter.insideOf(share) < Math.max(sharePacedAbove, this.#limiter.insideOfEach);
    const isCalm = this.#limiter.inside < atOnceMax && this.#limiter.waitingCount === 0;
    if (this.#limiter.hasPlace(share) && (isFew || isCalm)) {
      // Not past those of the tenant that wait.
      this.#limiter.wait(share, turn);
      const first = this.#limiter.nextOf(share);
      if (first !== undefined) this.#parts.begin(first);
    } else {
      this.#limiter.wait(share, turn);
      this.#growLater();
    }
  }

  enter(share: string): void {
    this.#limiter.enter(share);
  }

  leave(share: string): void {
    this.#limiter.leave(share);
  }

  waiting(): Iterable<Turn> {
    return this.#limiter.waiting();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #growLater(): void {
    if (this.#timer !== undefined) return;
    const { time } = this.#parts;
    const expectedAtMs = time.monotonicMs() + everyMs;
    this.#timer = time.after(everyMs, () => {
      this.#timer = undefined;
      const isLate = time.monotonicMs() - expectedAtMs > latenessMaxMs;
      this.#pace = isLate
        ? Math.max(pace.least, this.#pace * pace.less)
        : Math.min(pace.most, this.#pace + pace.more);
      this.#credit += this.#pace;
      this.#beginNext(Math.floor(this.#credit));
      this.#credit %= 1;
      if (this.#limiter.waitingCount > 0) this.#growLater();
      else this.#pace = Math.min(this.#pace, pace.first);
    });
  }

  #beginNext(most: number): void {
    for (let count = 0; count < most; count += 1) {
      const next = this.#limiter.next();
      if (next === undefined) return;
      this.#parts.begin(next);
    }
  }
}
