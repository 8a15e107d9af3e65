/** A page of a list, as every list of the platform answers it. */
interface Page {
  readonly data: readonly unknown[];
  readonly next_cursor?: string | null;
}

type ItemOf<Answer> = Answer extends { readonly data: readonly (infer Item)[] } ? Item : never;

/** A list: awaited, its first page; iterated, the items of all pages, each page when it is needed. */
export interface Listing<Answer> extends Promise<Answer>, AsyncIterable<ItemOf<Answer>> {
  /** All items in an array; refuses more than `max`, so that a long list cannot fill the memory. */
  all(options?: { readonly max?: number }): Promise<ItemOf<Answer>[]>;
}

const itemsMax = 10_000;

export function listing<Answer>(load: (cursor: string | undefined) => Promise<Answer>): Listing<Answer> {
  const first = load(undefined);
  async function* items(): AsyncGenerator<ItemOf<Answer>, void, undefined> {
    let page = (await first) as Page;
    for (;;) {
      yield* page.data as readonly ItemOf<Answer>[];
      // Lists without pages return everything at once.
      if (page.next_cursor === undefined || page.next_cursor === null) return;
      page = (await load(page.next_cursor)) as Page;
    }
  }
  return Object.assign(first, {
    [Symbol.asyncIterator]: items,
    all: async ({ max = itemsMax }: { readonly max?: number } = {}) => {
      const found: ItemOf<Answer>[] = [];
      for await (const item of items()) {
        if (found.length >= max) throw new RangeError(`The list has more than ${max} items; iterate it.`);
        found.push(item);
      }
      return found;
    },
  });
}
