/**
 * The books of model calls. An attempt is opened before its vendor hears of it and closed before its answer ends, so
 * whatever dies in between leaves a row that says so; after its deadline such a row is closed with the estimate that
 * it was opened with. Rows of many calls are written together.
 */
import type { Time, Timer } from '../../cluster/index.js';
import { PlatformError } from '../errors.js';
import {
  type BatchWriter,
  type BatchWriters,
  type InsertOutcome,
  type Store,
  StoreError,
} from '../storage/index.js';
import { type ClosedRow, closedTarget, listOrphans, type OpenedRow, openedTarget } from './usage.store.js';

export interface LedgerParts {
  readonly writers: BatchWriters;
  readonly store: Store;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

/** Long enough for a busy store. One that is away has refused the call before, when keys and counts were read. */
const openingMsMax = 8_000;
const closingMsMax = 10_000;
const sweepEveryMs = 15_000;
const sweepRowsMax = 500;
/** Closings that wait for the store to come back; the rows beyond are closed with their estimates. */
const lateMax = 50_000;

export class Ledger {
  readonly #parts: LedgerParts;
  readonly #opening: BatchWriter<OpenedRow, InsertOutcome>;
  readonly #closing: BatchWriter<ClosedRow, 'closed' | 'closed-before'>;
  /** Closings that the store did not take, by attempt. */
  readonly #late = new Map<string, ClosedRow>();
  #timer: Timer | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
    this.#opening = parts.writers.writer(openedTarget, { deadlineMs: openingMsMax });
    this.#closing = parts.writers.writer(closedTarget, { deadlineMs: closingMsMax });
  }

  /** Resolves once the row is durable. What cannot be booked is not done: a store that is away refuses the call. */
  async open(row: OpenedRow): Promise<void> {
    try {
      await this.#opening.write(row);
    } catch (error) {
      // It may have been written all the same; then it must not be taken for a call that was made.
      if (error instanceof StoreError && error.failure === 'outcome-unknown') {
        this.#closeLater(neverSent(row, new Date(this.#parts.time.wallMs())));
      }
      throw refusal(error);
    }
  }

  /** Resolves once the row and the counter of its month are durable. */
  async close(row: ClosedRow): Promise<void> {
    try {
      await this.#closing.write(row);
    } catch (error) {
      this.#closeLater(row);
      throw refusal(error);
    }
  }

  /** Sweeps now, for what an earlier process left, and then again and again. */
  start(): void {
    const tick = (): void => {
      this.#sweeping = this.sweep()
        .then(() => undefined)
        .catch((error: unknown) => this.#parts.report('closing usage rows that were left open', error))
        .finally(() => {
          if (!this.#stopped) this.#timer = this.#parts.time.after(sweepEveryMs, tick);
        });
    };
    tick();
  }

  /** Answers how many rows it closed. */
  async sweep(): Promise<number> {
    let closed = 0;
    for (const row of this.#late.values()) {
      await this.#closing.write(row);
      this.#late.delete(row.attempt_id);
      closed += 1;
    }
    for (;;) {
      const now = new Date(this.#parts.time.wallMs());
      const orphans = await listOrphans(this.#parts.store, now, sweepRowsMax);
      await Promise.all(
        orphans.map(({ input_estimate, output_estimate, cost_estimate, ...key }) =>
          this.#closing.write({
            ...key,
            ...nothing,
            outcome: 'orphaned',
            closed_at: now.toISOString(),
            input_tokens: input_estimate,
            output_tokens: output_estimate,
            cost: cost_estimate,
            usage_source: 'estimated',
          }),
        ),
      );
      closed += orphans.length;
      if (orphans.length < sweepRowsMax) return closed;
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#sweeping;
  }

  #closeLater(row: ClosedRow): void {
    if (this.#late.size < lateMax) this.#late.set(row.attempt_id, row);
  }
}

const nothing = {
  input_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  cost: 0,
  stop_reason: null,
  failure: null,
  vendor_request_id: null,
  first_signal_ms: null,
  duration_ms: null,
} as const;

function neverSent({ tenant_id, attempt_id }: OpenedRow, at: Date): ClosedRow {
  const failure = 'unavailable';
  return {
    ...nothing,
    tenant_id,
    attempt_id,
    outcome: 'failed',
    closed_at: at.toISOString(),
    usage_source: 'reported',
    failure,
  };
}

function refusal(cause: unknown): unknown {
  if (!(cause instanceof StoreError)) return cause;
  return new PlatformError('service_unavailable', { retryAfterSeconds: 1, cause });
}
