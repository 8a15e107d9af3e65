import type { Time, Timer } from '../../../cluster/index.js';
import { FairLimiter, type FairLimiterLimits } from '../../infra/claims/index.js';

export interface StartPacerParts<Thing> {
  readonly time: Time;
  readonly limits: FairLimiterLimits;
  readonly begin: (thing: Thing) => void;
}

/** Who has fewer inside, or fewer than the others on average, begins at once: a burst paces itself alone. */
const ofShareAtOnce = 4;
/** So many begin at once where nobody waits. */
const atOnceMax = 8;
const everyMs = 20;
/** How late this may run: about as long as the others' requests wait beside a burst. */
const lateMsMax = 5;
/**
 * How many begin each time. More, step by step, as long as the event loop is on time, and fewer by a part while it is
 * not: turns that are work alone then take what is left of this core, and leave the rest to everybody's requests. The
 * least is ten a second, since turns that wait for a model cost nothing, however late others make it.
 */
const pace = { least: 0.2, first: 8, most: 40, more: 0.4, less: 0.7 };

/**
 * When turns begin that nobody waits for. Some wait for a model for seconds, and many of them cost nothing; others are
 * work for this core alone, and a thousand that begin together would make everybody else's requests wait for all of
 * them. So they grow by and by, while the timer that begins more of them is on time, and get fewer while it is not.
 */
export class StartPacer<Thing> {
  readonly #parts: StartPacerParts<Thing>;
  readonly #room: FairLimiter<Thing>;
  #timer: Timer | undefined;
  #pace = pace.first;
  /** What is left of the pace of the times before: less than one turn. */
  #credit = 0;

  constructor(parts: StartPacerParts<Thing>) {
    this.#parts = parts;
    this.#room = new FairLimiter(parts.limits);
  }

  get free(): number {
    return this.#room.free;
  }

  get waitingCount(): number {
    return this.#room.waitingCount;
  }

  ask(share: string, thing: Thing): void {
    const isFew = this.#room.insideOf(share) < Math.max(ofShareAtOnce, this.#room.insideOfEach);
    const isCalm = this.#room.inside < atOnceMax && this.#room.waitingCount === 0;
    if (this.#room.hasPlace(share) && (isFew || isCalm)) this.#parts.begin(thing);
    else {
      this.#room.wait(share, thing);
      this.#growLater();
    }
  }

  enter(share: string): void {
    this.#room.enter(share);
  }

  leave(share: string): void {
    this.#room.leave(share);
  }

  waiting(): Iterable<Thing> {
    return this.#room.waiting();
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
      const isLate = time.monotonicMs() - expectedAtMs > lateMsMax;
      this.#pace = isLate
        ? Math.max(pace.least, this.#pace * pace.less)
        : Math.min(pace.most, this.#pace + pace.more);
      this.#credit += this.#pace;
      this.#beginNext(Math.floor(this.#credit));
      this.#credit %= 1;
      if (this.#room.waitingCount > 0) this.#growLater();
      else this.#pace = Math.min(this.#pace, pace.first);
    });
  }

  #beginNext(most: number): void {
    for (let count = 0; count < most; count += 1) {
      const next = this.#room.next();
      if (next === undefined) return;
      this.#parts.begin(next);
    }
  }
}
