import { ByteBudget, type ByteHolder, type ByteLimits } from '../../kernel/byte-budget.js';
import { PlatformError } from '../../kernel/errors.js';

/** The bytes that one request has fetched. */
export interface HeldBytes {
  /** Throws if there is no room for them. */
  hold(bytes: number): void;
  free(): void;
}

/**
 * The bytes of images and files that this node has fetched for requests that wait for the rest of theirs, with a share for
 * each tenant: a few tenants whose servers answer slowly cannot shut out the others.
 */
export class FetchedBytes {
  readonly #budget: ByteBudget;

  constructor(limits: ByteLimits) {
    this.#budget = new ByteBudget(limits);
  }

  get bytes(): number {
    return this.#budget.bytes;
  }

  bytesOf(tenantId: string): number {
    return this.#budget.bytesOf(tenantId);
  }

  /** A request that holds nothing yet. `free` must follow. `onEvicted` is told why its bytes were taken away. */
  begin(tenantId: string, onEvicted: (error: PlatformError) => void): HeldBytes {
    let isOver = false;
    const free = (): void => {
      isOver = true;
      this.#budget.free(tenantId, holder);
    };
    const holder: ByteHolder = {
      evict: () => {
        free();
        onEvicted(noRoom());
      },
    };
    return {
      hold: (bytes) => {
        if (isOver || !this.#budget.hold(tenantId, holder, bytes)) throw noRoom();
      },
      free,
    };
  }
}

function noRoom(): PlatformError {
  return new PlatformError('service_unavailable', {
    message: 'The server holds too many fetched images and files. Retry in a moment.',
    retryAfterSeconds: 1,
  });
}
