/** First in, first out, in a ring buffer that doubles when full and allocates nothing until used. */
export class Fifo<Item> {
  #ring: (Item | undefined)[] = [];
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: Item): void {
    if (this.#size === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#size) & (this.#ring.length - 1)] = item;
    this.#size += 1;
  }

  peek(): Item | undefined {
    return this.#size === 0 ? undefined : this.#ring[this.#head];
  }

  shift(): Item | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#size -= 1;
    return item;
  }

  /** Drops the others, in one pass. */
  retain(isKept: (item: Item) => boolean): void {
    const kept: Item[] = [];
    for (let item = this.shift(); item !== undefined; item = this.shift()) if (isKept(item)) kept.push(item);
    this.#ring = [];
    this.#head = 0;
    for (const item of kept) this.push(item);
  }

  #grow(): void {
    const length = Math.max(4, this.#ring.length * 2);
    const ring: (Item | undefined)[] = [];
    for (let index = 0; index < length; index += 1) {
      ring.push(index < this.#size ? this.#ring[(this.#head + index) & (this.#ring.length - 1)] : undefined);
    }
    this.#ring = ring;
    this.#head = 0;
  }
}
