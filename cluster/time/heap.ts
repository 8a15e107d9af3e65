/** A binary heap with the least item on top. */
export class Heap<Item> {
  readonly #items: Item[] = [];
  readonly #before: (one: Item, other: Item) => boolean;

  constructor(before: (one: Item, other: Item) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): Item | undefined {
    return this.#items[0];
  }

  push(item: Item): void {
    const items = this.#items;
    let index = items.length;
    items.push(item);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = items[parent];
      if (above === undefined || !this.#before(item, above)) break;
      items[index] = above;
      index = parent;
    }
    items[index] = item;
  }

  pop(): Item | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return top;
    let index = 0;
    for (;;) {
      const leftIndex = 2 * index + 1;
      const left = items[leftIndex];
      if (left === undefined) break;
      const right = items[leftIndex + 1];
      const useRight = right !== undefined && this.#before(right, left);
      const least = useRight ? right : left;
      if (!this.#before(least, last)) break;
      items[index] = least;
      index = useRight ? leftIndex + 1 : leftIndex;
    }
    items[index] = last;
    return top;
  }
}
