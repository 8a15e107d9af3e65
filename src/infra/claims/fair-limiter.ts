import { FairQueue } from '../storage/index.js';

export interface FairLimiterLimits {
  /** Things inside at once. */
  readonly all: number;
  /** Of these, of one share. */
  readonly each: number;
}

/**
 * How many may be inside at once. Who finds no place waits, share by share in turn; and since no share may take all the
 * places, one whose things stay inside for long holds up nobody but itself.
 */
export class FairLimiter<Thing> {
  readonly #limits: FairLimiterLimits;
  readonly #waiting = new FairQueue<Thing>();
  readonly #insideOf = new Map<string, number>();
  #inside = 0;

  constructor(limits: FairLimiterLimits) {
    this.#limits = limits;
  }

  /** Places that nobody has; fewer than none where somebody could not wait. */
  get free(): number {
    return this.#limits.all - this.#inside;
  }

  get inside(): number {
    return this.#inside;
  }

  /** On average of those who have anything inside. */
  get insideOfEach(): number {
    return this.#insideOf.size === 0 ? 0 : this.#inside / this.#insideOf.size;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  insideOf(share: string): number {
    return this.#insideOf.get(share) ?? 0;
  }

  hasPlace(share: string): boolean {
    return this.free > 0 && this.#hasOwnPlace(share);
  }

  enter(share: string): void {
    this.#inside += 1;
    this.#insideOf.set(share, this.insideOf(share) + 1);
  }

  wait(share: string, thing: Thing): void {
    this.#waiting.push(share, thing);
  }

  leave(share: string): void {
    this.#inside -= 1;
    const left = (this.#insideOf.get(share) ?? 1) - 1;
    if (left > 0) this.#insideOf.set(share, left);
    else this.#insideOf.delete(share);
  }

  /** Whose turn it is now; it has a place, and waits no more. */
  next(): Thing | undefined {
    return this.free > 0 ? this.#waiting.shift((share) => this.#hasOwnPlace(share)) : undefined;
  }

  waiting(): Iterable<Thing> {
    return this.#waiting;
  }

  #hasOwnPlace(share: string): boolean {
    return this.insideOf(share) < this.#limits.each;
  }
}
