import { errors, Pool, type Dispatcher } from 'undici';
import type { Headers } from '../vendor.js';
import { transportLimits } from './limits.js';

/** The reader of a reply: undici's handler without the unused parts. */
export interface ReplyListener {
  onRequestStart(controller: Dispatcher.DispatchController): void;
  onResponseStart(status: number, headers: Headers): void;
  onResponseData(chunk: Buffer): void;
  onResponseEnd(): void;
  onResponseError(error: Error): void;
}

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
  /** In order of use: the least recently used pool is first. */
  readonly #entries = new Map<string, Entry>();
  readonly #poolsMax: number;
  #closed = false;

  constructor(options: { readonly poolsMax?: number } = {}) {
    this.#poolsMax = options.poolsMax ?? transportLimits.poolsMax;
  }

  /**
   * False if the pool is full: the request was not sent and the handler is not called. After `close` the handler is told
   * that nothing was sent: the calls whose requests that ended try again, and would be answered and billed once more.
   */
  dispatch(
    origin: string,
    credentialId: string,
    options: Dispatcher.DispatchOptions,
    handler: ReplyListener,
  ): boolean {
    if (this.#closed) {
      handler.onResponseError(new errors.ClientClosedError());
      return true;
    }
    const entry = this.#entry(origin, credentialId);
    if (entry.inFlight >= transportLimits.connectionsPerPoolMax) return false;
    entry.inFlight += 1;
    entry.pool.dispatch(options, new CountedHandler(entry, handler));
    return true;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Aborts running requests, and sends no more. */
  async close(): Promise<void> {
    this.#closed = true;
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
    this.#evict();
    const entry: Entry = { pool: newPool(origin), inFlight: 0 };
    this.#entries.set(key, entry);
    return entry;
  }

  /** Makes room for a pool that is not in the table yet, since it has no request either. If all have, the table grows. */
  #evict(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size < this.#poolsMax) return;
      if (entry.inFlight > 0) continue;
      this.#entries.delete(key);
      // No request runs on it, so there is nothing to wait for and no failure to report.
      void entry.pool.destroy().catch(() => undefined);
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

/** Counts a request until its handler was told of the end, exactly once. */
class CountedHandler implements Dispatcher.DispatchHandler {
  readonly #entry: Entry;
  readonly #handler: ReplyListener;
  #counted = true;

  constructor(entry: Entry, handler: ReplyListener) {
    this.#entry = entry;
    this.#handler = handler;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#handler.onRequestStart(controller);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    this.#handler.onResponseStart(status, headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#handler.onResponseData(chunk);
  }

  onResponseEnd(): void {
    this.#ended();
    this.#handler.onResponseEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#ended();
    this.#handler.onResponseError(error);
  }

  #ended(): void {
    if (this.#counted) this.#entry.inFlight -= 1;
    this.#counted = false;
  }
}
