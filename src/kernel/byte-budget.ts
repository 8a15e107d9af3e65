/** Something that holds bytes of a budget. */
export interface ByteHolder {
  /** Frees its bytes in the budget, and ends what they are for. */
  evict(): void;
}

export interface ByteLimits {
  readonly all: number;
  /** Of one share. */
  readonly each: number;
}

interface Holding {
  bytes: number;
  isEvictable: boolean;
}

interface Share {
  bytes: number;
  evictable: number;
  readonly holdings: Map<ByteHolder, Holding>;
}

/**
 * Bounds the bytes that are held at once, by all shares and by each. At the limit of all, the largest holder of the share
 * with the most bytes is evicted, so that a few shares that hold theirs for long cannot shut out the others.
 */
export class ByteBudget {
  readonly #limits: ByteLimits;
  readonly #shares = new Map<string, Share>();
  #bytes = 0;

  constructor(limits: ByteLimits) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  bytesOf(name: string): number {
    return this.#shares.get(name)?.bytes ?? 0;
  }

  /** Adds bytes to those of the holder. Returns false if they do not fit. */
  hold(name: string, holder: ByteHolder, bytes: number): boolean {
    if (this.bytesOf(name) + bytes > this.#limits.each) return false;
    while (this.#bytes + bytes > this.#limits.all) {
      const victim = this.#victimAbove(this.bytesOf(name) + bytes);
      if (victim === undefined) return false;
      victim.evict();
    }
    // After the evictions, which may have removed this very share.
    let share = this.#shares.get(name);
    if (share === undefined)
      this.#shares.set(name, (share = { bytes: 0, evictable: 0, holdings: new Map() }));
    const holding = share.holdings.get(holder);
    if (holding === undefined) {
      share.holdings.set(holder, { bytes, isEvictable: true });
      share.evictable += 1;
    } else holding.bytes += bytes;
    share.bytes += bytes;
    this.#bytes += bytes;
    return true;
  }

  /** The holder keeps its bytes until it frees them. */
  keep(name: string, holder: ByteHolder): void {
    const share = this.#shares.get(name);
    const holding = share?.holdings.get(holder);
    if (share === undefined || holding?.isEvictable !== true) return;
    holding.isEvictable = false;
    share.evictable -= 1;
  }

  /** Gives back all bytes of the holder; none if it holds none. */
  free(name: string, holder: ByteHolder): void {
    const share = this.#shares.get(name);
    const holding = share?.holdings.get(holder);
    if (share === undefined || holding === undefined) return;
    share.holdings.delete(holder);
    if (holding.isEvictable) share.evictable -= 1;
    share.bytes -= holding.bytes;
    this.#bytes -= holding.bytes;
    if (share.holdings.size === 0) this.#shares.delete(name);
  }

  /** The largest holder to evict, of the largest share that has one and more bytes than these. */
  #victimAbove(bytes: number): ByteHolder | undefined {
    let largest: Share | undefined;
    for (const share of this.#shares.values()) {
      if (share.evictable > 0 && share.bytes > (largest?.bytes ?? bytes)) largest = share;
    }
    let victim: ByteHolder | undefined;
    let most = -1;
    for (const [holder, holding] of largest?.holdings ?? []) {
      if (!holding.isEvictable || holding.bytes <= most) continue;
      victim = holder;
      most = holding.bytes;
    }
    return victim;
  }
}
