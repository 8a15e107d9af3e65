import type { Time, Timer } from '../../../cluster/index.js';
import type { Ids } from '../../kernel/chance.js';
import type { KnownKey } from './known-keys.js';
import type { KeyUseRow } from './use.store.js';

/**
 * Counts the uses of keys and their last use in memory and adds them to the store every few seconds, so that a request
 * costs no write. A crash loses the counts since the last batch; a failed batch is sent again with the same id, so it is
 * not added twice.
 */
const flushEveryMs = 3_000;
const forgetEveryMs = 600_000;
const rowsMax = 1_000;

export interface KeyUseOptions {
  readonly add: (batchId: string, rows: readonly KeyUseRow[]) => Promise<void>;
  readonly forgetOldBatches: () => Promise<void>;
  readonly time: Time;
  readonly ids: Ids;
  readonly report: (attempted: string, error: unknown) => void;
}

interface Count {
  readonly tenantId: string;
  requests: number;
  lastUsedMs: number;
}

interface Batch {
  readonly id: string;
  readonly rows: readonly KeyUseRow[];
}

export class KeyUse {
  readonly #options: KeyUseOptions;
  #counts = new Map<string, Count>();
  /** Batches not yet known to be added, oldest first. */
  readonly #batches: Batch[] = [];
  #flushing: Promise<void> | undefined;
  #timer: Timer;
  #forgotAtMs: number;
  #stopped = false;

  constructor(options: KeyUseOptions) {
    this.#options = options;
    this.#forgotAtMs = options.time.monotonicMs();
    this.#timer = options.time.after(flushEveryMs, () => void this.#tick());
  }

  count({ keyId, scope }: KnownKey): void {
    const now = this.#options.time.wallMs();
    const count = this.#counts.get(keyId);
    if (count === undefined) {
      this.#counts.set(keyId, { tenantId: scope.tenantId, requests: 1, lastUsedMs: now });
    } else {
      count.requests += 1;
      count.lastUsedMs = now;
    }
  }

  /** Adds everything that was counted before the call; rejects if the store refuses, and the batch is kept for later. */
  async flush(): Promise<void> {
    // A running flush may have made its batches before this call; this call makes its own afterwards.
    await this.#flushing?.catch(toldToItsOwnCaller);
    this.#flushing ??= this.#send().finally(() => (this.#flushing = undefined));
    await this.#flushing;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer.cancel();
    await this.flush();
  }

  async #tick(): Promise<void> {
    const { time, report, forgetOldBatches } = this.#options;
    try {
      await this.flush();
      if (time.monotonicMs() - this.#forgotAtMs >= forgetEveryMs) {
        this.#forgotAtMs = time.monotonicMs();
        await forgetOldBatches();
      }
    } catch (error) {
      report('add up the use of keys', error);
    }
    if (!this.#stopped) this.#timer = time.after(flushEveryMs, () => void this.#tick());
  }

  async #send(): Promise<void> {
    // While the store is away the counts accumulate in one place, and no new batches pile up.
    await this.#sendBatches();
    this.#cut();
    await this.#sendBatches();
  }

  async #sendBatches(): Promise<void> {
    for (let batch = this.#batches[0]; batch !== undefined; batch = this.#batches[0]) {
      await this.#options.add(batch.id, batch.rows);
      this.#batches.shift();
    }
  }

  #cut(): void {
    if (this.#counts.size === 0) return;
    const rows = [...this.#counts].map(([keyId, { tenantId, requests, lastUsedMs }]) => ({
      tenantId,
      keyId,
      requests,
      lastUsedAt: new Date(lastUsedMs),
    }));
    this.#counts = new Map();
    for (let start = 0; start < rows.length; start += rowsMax) {
      this.#batches.push({ id: this.#options.ids.uuid(), rows: rows.slice(start, start + rowsMax) });
    }
  }
}

/** The caller that started the flush handles its failure; later callers try again themselves. */
function toldToItsOwnCaller(): void {}
