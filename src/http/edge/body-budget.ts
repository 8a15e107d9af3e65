/** A body that occupies bytes of the budget. */
export interface HeldBody {
  /** Returns its bytes and refuses its request, or cuts its answer. Called only while the body is still on its way. */
  evict(): void;
}

interface Share {
  bytes: number;
  /** Bodies still arriving at the node or at the client, oldest first. */
  readonly arriving: Set<HeldBody>;
}

/**
 * The bytes of bodies that this node holds: those of requests from their arrival until they are parsed, or until the answer
 * if the operation takes them raw, and those of large answers until their clients have taken them. There is a limit per
 * client and one for the node. At the limit of the node, a body of the client with the most bytes is evicted, so that a few
 * slow clients cannot shut out the others.
 */
export class BodyBudget {
  readonly #perClient: number;
  readonly #perNode: number;
  readonly #shares = new Map<string, Share>();
  #bytes = 0;

  constructor(bounds: { readonly perClient: number; readonly perNode: number }) {
    this.#perClient = bounds.perClient;
    this.#perNode = bounds.perNode;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns false if the bytes do not fit. */
  hold(client: string, body: HeldBody, bytes: number): boolean {
    let share = this.#shares.get(client);
    if ((share?.bytes ?? 0) + bytes > this.#perClient) return false;
    while (this.#bytes + bytes > this.#perNode) {
      const victim = this.#largestAbove((share?.bytes ?? 0) + bytes);
      if (victim === undefined) return false;
      victim.evict();
      // The eviction may have removed this client's own share.
      share = this.#shares.get(client);
    }
    if (share === undefined) this.#shares.set(client, (share = { bytes: 0, arriving: new Set() }));
    share.bytes += bytes;
    this.#bytes += bytes;
    share.arriving.add(body);
    return true;
  }

  /** The body is complete: it is parsed next and can no longer be evicted. */
  arrived(client: string, body: HeldBody): void {
    this.#shares.get(client)?.arriving.delete(body);
  }

  free(client: string, body: HeldBody, bytes: number): void {
    const share = this.#shares.get(client);
    if (share === undefined) return;
    this.#bytes -= bytes;
    share.bytes -= bytes;
    share.arriving.delete(body);
    if (share.bytes === 0 && share.arriving.size === 0) this.#shares.delete(client);
  }

  #largestAbove(bytes: number): HeldBody | undefined {
    let largest: Share | undefined;
    for (const share of this.#shares.values()) {
      if (share.arriving.size > 0 && share.bytes > (largest?.bytes ?? bytes)) largest = share;
    }
    return largest?.arriving.values().next().value;
  }
}
