/**
 * A queue for several shares, each with its own things: shares take turns, one thing each, so that a share with a
 * thousand things does not delay a share with one. With a single share it is a plain queue.
 */
export class FairQueue<Thing> {
  /** In the order of turns: a share that had its turn moves to the end. */
  readonly #shares = new Map<string, { things: Thing[]; next: number }>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  lengthOf(share: string): number {
    const own = this.#shares.get(share);
    return own === undefined ? 0 : own.things.length - own.next;
  }

  push(share: string, thing: Thing): void {
    const own = this.#shares.get(share);
    if (own === undefined) this.#shares.set(share, { things: [thing], next: 0 });
    else own.things.push(thing);
    this.#length += 1;
  }

  /** The next thing, without removing it. */
  peek(): Thing | undefined {
    for (const { things, next } of this.#shares.values()) return things[next];
    return undefined;
  }

  /** Removes the next thing of a share for which `may` is true. */
  shift(may: (share: string) => boolean = () => true): Thing | undefined {
    for (const [share, own] of this.#shares) {
      if (!may(share)) continue;
      const thing = own.things[own.next];
      own.next += 1;
      this.#length -= 1;
      this.#shares.delete(share);
      if (own.next < own.things.length) {
        this.#shares.set(share, own);
        // Taken things are removed in batches: removing each one would move all waiting things.
        if (own.next >= 1_024) {
          own.things = own.things.slice(own.next);
          own.next = 0;
        }
      }
      return thing;
    }
    return undefined;
  }

  *[Symbol.iterator](): Iterator<Thing> {
    for (const { things, next } of this.#shares.values()) yield* things.slice(next);
  }
}
