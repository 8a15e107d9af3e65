import { Pool, type Dispatcher } from 'undici';
import { transportLimits } from './limits.js';

interface Entry {
  readonly pool: Pool;
  inFlight: number;
}

/**
 * Keep-alive connections to vendors, one pool per origin and credential, so that no tenant's traffic shares a
 * connection with another's key. undici sets TCP_NODELAY on every socket; answers are read by handlers, since `fetch`
 * costs several times as much per chunk.
 */
export class VendorPools {
  /** In order of use: the first is the one that was not used for longest. */
  readonly #entries = new Map<string, Entry>();
  readonly #poolsMax: number;

  constructor(options: { readonly poolsMax?: number } = {}) {
    this.#poolsMax = options.poolsMax ?? transportLimits.poolsMax;
  }

  /** False where the pool is full: the request was not sent and the handler hears nothing. */
  dispatch(
    origin: string,
    credentialId: string,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    const entry = this.#entry(origin, credentialId);
    if (entry.inFlight >= transportLimits.connectionsPerPoolMax) return false;
    entry.inFlight += 1;
    entry.pool.dispatch(options, countedHandler(entry, handler));
    return true;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Cuts what is still running. */
  async close(): Promise<void> {
    const pools = [...this.#entries.values()].map((entry) => entry.pool);
    this.#entries.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  #entry(origin: string, credentialId: string): Entry {
    const key = `${origin} ${credentialId}`;
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, known);
      return known;
    }
    const entry: Entry = { pool: newPool(origin), inFlight: 0 };
    this.#entries.set(key, entry);
    this.#evict();
    return entry;
  }

  #evict(): void {
    if (this.#entries.size <= this.#poolsMax) return;
    for (const [key, entry] of this.#entries) {
      if (entry.inFlight > 0) continue;
      this.#entries.delete(key);
      // Nothing runs on it, so there is nothing to wait for and nobody to tell of a failure.
      void entry.pool.destroy().catch(() => undefined);
      return;
    }
  }
}

function newPool(origin: string): Pool {
  return new Pool(origin, {
    connections: transportLimits.connectionsPerPoolMax,
    pipelining: 1,
    keepAliveTimeout: transportLimits.keepAliveMs,
    keepAliveMaxTimeout: transportLimits.keepAliveMs,
    // The call's own clocks decide.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: transportLimits.connectTimeoutMs },
  });
}

/** Counts a request until its handler heard of the end, exactly once. */
function countedHandler(
  entry: { inFlight: number },
  handler: Dispatcher.DispatchHandler,
): Dispatcher.DispatchHandler {
  let counted = true;
  const ended = (): void => {
    if (counted) entry.inFlight -= 1;
    counted = false;
  };
  return {
    onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
    onResponseStart: (controller, status, headers, message) =>
      handler.onResponseStart?.(controller, status, headers, message),
    onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
    onResponseEnd: (controller, trailers) => {
      ended();
      handler.onResponseEnd?.(controller, trailers);
    },
    onResponseError: (controller, error) => {
      ended();
      handler.onResponseError?.(controller, error);
    },
  };
}
