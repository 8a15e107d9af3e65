import { FairQueue } from './fair-queue.js';

export interface FairLimiterLimits {
  /** Maximum admitted at once. */
  readonly all: number;
  /** Maximum of one share. */
  readonly each: number;
}

/**
 * Bounds how many things are admitted at once. Others wait, and the shares take turns. No share may take all the places,
 * so a share with slow things delays only itself.
 */
export class FairLimiter<Item> {
  readonly #limits: FairLimiterLimits;
  readonly #waiting = new FairQueue<Item>();
  readonly #insideOf = new Map<string, number>();
  #inside = 0;

  constructor(limits: FairLimiterLimits) {
    this.#limits = limits;
  }

  /** Free places; negative if some entered without waiting. */
  get free(): number {
    return this.#limits.all - this.#inside;
  }

  get inside(): number {
    return this.#inside;
  }

  /** The mean number of admitted things per share, over shares that have any. */
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

  wait(share: string, item: Item): void {
    this.#waiting.push(share, item);
  }

  leave(share: string): void {
    this.#inside -= 1;
    const left = (this.#insideOf.get(share) ?? 1) - 1;
    if (left > 0) this.#insideOf.set(share, left);
    else this.#insideOf.delete(share);
  }

  /** Removes and returns the next waiting item that has a free place. */
  next(): Item | undefined {
    return this.free > 0 ? this.#waiting.shift((share) => this.#hasOwnPlace(share)) : undefined;
  }

  /** The same of one share. */
  nextOf(share: string): Item | undefined {
    return this.hasPlace(share) ? this.#waiting.shift((other) => other === share) : undefined;
  }

  waitingOf(share: string): number {
    return this.#waiting.lengthOf(share);
  }

  waiting(): Iterable<Item> {
    return this.#waiting;
  }

  #hasOwnPlace(share: string): boolean {
    return this.insideOf(share) < this.#limits.each;
  }
}
