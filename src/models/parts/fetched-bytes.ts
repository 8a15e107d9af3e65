import { PlatformError } from '../../kernel/errors.js';

/** The bytes that one request has fetched. */
export interface HeldBytes {
  readonly bytes: number;
  /** Throws if there is no room for them. */
  hold(bytes: number): void;
  free(): void;
}

class Held implements HeldBytes {
  readonly share: Share;
  readonly #budget: FetchedBytes;
  readonly #onEvicted: (error: PlatformError) => void;
  bytes = 0;
  #isOver = false;

  constructor(budget: FetchedBytes, share: Share, onEvicted: (error: PlatformError) => void) {
    this.#budget = budget;
    this.share = share;
    this.#onEvicted = onEvicted;
  }

  hold(bytes: number): void {
    if (this.#isOver || !this.#budget.take(this, bytes)) throw noRoom();
  }

  free(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#budget.leave(this);
  }

  evict(): void {
    this.free();
    this.#onEvicted(noRoom());
  }
}

interface Share {
  readonly tenantId: string;
  bytes: number;
  readonly requests: Set<Held>;
}

/**
 * The bytes of images and files that this node has fetched for requests that wait for the rest of theirs. There is a limit
 * for each tenant and one for the node. At the limit of the node, a request of the tenant with the most bytes gives way,
 * so that a few tenants whose servers answer slowly cannot shut out the others.
 */
export class FetchedBytes {
  readonly #limits: { readonly all: number; readonly each: number };
  readonly #shares = new Map<string, Share>();
  #bytes = 0;

  constructor(limits: { readonly all: number; readonly each: number }) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  bytesOf(tenantId: string): number {
    return this.#shares.get(tenantId)?.bytes ?? 0;
  }

  /** A request that holds nothing yet. `free` must follow. `onEvicted` is told why its bytes were taken away. */
  begin(tenantId: string, onEvicted: (error: PlatformError) => void): HeldBytes {
    let share = this.#shares.get(tenantId);
    if (share === undefined)
      this.#shares.set(tenantId, (share = { tenantId, bytes: 0, requests: new Set() }));
    const held = new Held(this, share, onEvicted);
    share.requests.add(held);
    return held;
  }

  take(held: Held, bytes: number): boolean {
    const { share } = held;
    if (share.bytes + bytes > this.#limits.each) return false;
    while (this.#bytes + bytes > this.#limits.all) {
      const largest = this.#largestAbove(share.bytes + bytes);
      if (largest === undefined) return false;
      largest.evict();
    }
    held.bytes += bytes;
    share.bytes += bytes;
    this.#bytes += bytes;
    return true;
  }

  leave(held: Held): void {
    const { share } = held;
    this.#bytes -= held.bytes;
    share.bytes -= held.bytes;
    held.bytes = 0;
    share.requests.delete(held);
    if (share.requests.size === 0) this.#shares.delete(share.tenantId);
  }

  /** The largest request of the tenant that holds the most, if that is more than this. */
  #largestAbove(bytes: number): Held | undefined {
    let most: Share | undefined;
    for (const share of this.#shares.values()) if (share.bytes > (most?.bytes ?? bytes)) most = share;
    let largest: Held | undefined;
    for (const held of most?.requests ?? []) if (held.bytes > (largest?.bytes ?? 0)) largest = held;
    return largest;
  }
}

function noRoom(): PlatformError {
  return new PlatformError('service_unavailable', {
    message: 'The server holds too many fetched images and files. Retry in a moment.',
    retryAfterSeconds: 1,
  });
}
