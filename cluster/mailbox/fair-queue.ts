import { Fifo } from './fifo.js';

/**
 * One queue per group, served in turn: a group that sends a thousand items delays only itself. Order within a group
 * is kept. A group without waiting items uses no memory.
 */
export class FairQueue<Item> {
  readonly #waiting = new Map<string, Fifo<Item>>();
  readonly #turn = new Fifo<string>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(group: string): number {
    return this.#waiting.get(group)?.size ?? 0;
  }

  push(group: string, item: Item): void {
    let queue = this.#waiting.get(group);
    if (queue === undefined) {
      queue = new Fifo();
      this.#waiting.set(group, queue);
      this.#turn.push(group);
    }
    queue.push(item);
    this.#size += 1;
  }

  shift(): Item | undefined {
    const group = this.#turn.shift();
    const queue = group === undefined ? undefined : this.#waiting.get(group);
    if (group === undefined || queue === undefined) return undefined;
    const item = queue.shift();
    this.#size -= 1;
    if (queue.size > 0) this.#turn.push(group);
    else this.#waiting.delete(group);
    return item;
  }

  /** Drops the others, in one pass; the groups keep their turns. */
  retain(isKept: (item: Item) => boolean): void {
    this.#size = 0;
    for (const [group, queue] of this.#waiting) {
      queue.retain(isKept);
      this.#size += queue.size;
      if (queue.size === 0) this.#waiting.delete(group);
    }
    this.#turn.retain((group) => this.#waiting.has(group));
  }
}

/**
 * Splits a shared bound: a group may use as much as is still free. One group alone gets half, two get a third each,
 * and a newcomer always finds room.
 */
export class SharedBound {
  readonly #bound: number;
  readonly #used = new Map<string, number>();
  #total = 0;

  constructor(bound: number) {
    this.#bound = bound;
  }

  get total(): number {
    return this.#total;
  }

  take(group: string): boolean {
    const used = this.#used.get(group) ?? 0;
    if (used >= this.#bound - this.#total) return false;
    this.#used.set(group, used + 1);
    this.#total += 1;
    return true;
  }

  give(group: string): void {
    const used = this.#used.get(group) ?? 0;
    if (used === 0) return;
    if (used === 1) this.#used.delete(group);
    else this.#used.set(group, used - 1);
    this.#total -= 1;
  }
}
