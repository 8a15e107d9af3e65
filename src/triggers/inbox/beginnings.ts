import type { Time, Timer } from '../../../cluster/index.js';
import { Room, type RoomLimits } from '../room.js';

export interface BeginningsParts<Thing> {
  readonly time: Time;
  readonly limits: RoomLimits;
  readonly begin: (thing: Thing) => void;
}

/** Who has fewer inside begins at once. */
const ofShareAtOnce = 4;
/** So many may be inside however late the event loop runs. */
const insideAnyway = 32;
const everyMs = 20;
const moreMax = 8;
/**
 * How late this may run: about as long as the others' requests wait beside a burst. Of a thousand turns that are work
 * alone, simulated, another tenant's messages were accepted within 129 ms where 50 were allowed, within 39 with these,
 * and the burst was over at the same moment.
 */
const lateMsMax = 10;

/**
 * When turns begin that nobody waits for. Some wait for a model for seconds, and many of them cost nothing; others are
 * work for this core alone, and a thousand that begin together would make everybody else's requests wait for all of
 * them. So they grow by and by, while the timer that begins more of them is on time, and get fewer while it is not.
 */
export class Beginnings<Thing> {
  readonly #parts: BeginningsParts<Thing>;
  readonly #room: Room<Thing>;
  #timer: Timer | undefined;
  #late = false;

  constructor(parts: BeginningsParts<Thing>) {
    this.#parts = parts;
    this.#room = new Room(parts.limits);
  }

  get free(): number {
    return this.#room.free;
  }

  get waitingCount(): number {
    return this.#room.waitingCount;
  }

  ask(share: string, thing: Thing): void {
    const isFew = this.#room.insideOf(share) < ofShareAtOnce;
    const isCalm = this.#room.inside < insideAnyway && this.#room.waitingCount === 0;
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
    if (!this.#late || this.#room.inside < insideAnyway) this.#beginNext(1);
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
      this.#late = time.monotonicMs() - expectedAtMs > lateMsMax;
      this.#beginNext(this.#late ? insideAnyway - this.#room.inside : moreMax);
      if (this.#room.waitingCount > 0) this.#growLater();
      else this.#late = false;
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
