/** A body that holds bytes of the budget. */
export interface HeldBody {
  /** Gives its bytes back and refuses its request. Called only while the body is still on its way. */
  evict(): void;
}

interface Share {
  bytes: number;
  /** Still on their way, the oldest first. */
  readonly arriving: Set<HeldBody>;
}

/**
 * Bytes of request bodies that this node holds: from their arrival until they are read into a value, or until the
 * answer where the operation takes them raw. Each client has a bound and the node has one. When the node's is reached,
 * a body of the client that holds most gives way, so that no few clients who send slowly shut out the others.
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

  /** False: there is no room for so many bytes more. */
  hold(client: string, body: HeldBody, bytes: number): boolean {
    let share = this.#shares.get(client);
    if ((share?.bytes ?? 0) + bytes > this.#perClient) return false;
    while (this.#bytes + bytes > this.#perNode) {
      const victim = this.#largestAbove((share?.bytes ?? 0) + bytes);
      if (victim === undefined) return false;
      victim.evict();
      // Its own share may have been the one that was given up.
      share = this.#shares.get(client);
    }
    if (share === undefined) this.#shares.set(client, (share = { bytes: 0, arriving: new Set() }));
    share.bytes += bytes;
    this.#bytes += bytes;
    share.arriving.add(body);
    return true;
  }

  /** The body is whole: it is read next, and gives way to nobody. */
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
