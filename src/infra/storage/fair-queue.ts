/**
 * A line in which several stand, each with things of its own: they are taken in turn, one of each, so that who brought
 * a thousand holds nobody up who brought one. Without a name for whose they are it is a plain queue.
 */
export class FairQueue<Thing> {
  /** In the order of their turns: who has had one goes to the end. */
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

  /** What would be taken next. */
  peek(): Thing | undefined {
    for (const { things, next } of this.#shares.values()) return things[next];
    return undefined;
  }

  /** Of those whose turn may come now, where not everybody's may. */
  shift(may: (share: string) => boolean = () => true): Thing | undefined {
    for (const [share, own] of this.#shares) {
      if (!may(share)) continue;
      const thing = own.things[own.next];
      own.next += 1;
      this.#length -= 1;
      this.#shares.delete(share);
      if (own.next < own.things.length) {
        this.#shares.set(share, own);
        // What was taken is let go now and then: taking it out each time would move all that wait.
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
