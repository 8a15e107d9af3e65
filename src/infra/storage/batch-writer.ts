// Group commit. Rows of many callers and many tenants go into one statement: at once if nothing is in flight,
// otherwise when the last commit returns. So a single row never waits, and under load batches grow by
// themselves (50–100 rows give 4–5 times the rows per second of single inserts, measured). There is no timer
// to wait for.
//
// If a connection is lost during the commit, it is unknown whether the rows were written. The writer repeats
// the same rows until it knows or their deadline passes; their keys were fixed before the first attempt, and
// they are inserted only if absent.
//
// A row that PostgreSQL refuses, or that waits for another transaction's lock, must not fail its batch: the
// batch is halved until that row is alone.
import type pg from 'pg';
import { backoffMs, sleep } from '../../../cluster/index.js';
import type { Random, Time, Timer } from '../../../cluster/index.js';
import { Entry, classify } from './batch-attempt.js';
import type { Verdict } from './batch-attempt.js';
import { type BatchTarget, statementOf } from './batch-target.js';
import { StoreError, toStoreError } from './errors.js';
import { FairQueue } from '../../kernel/fair-queue.js';

export type BatchWriter<Row, Outcome> = {
  /** Resolves after the commit. Rejects with a StoreError; `outcome-unknown` if it is unknown whether the row was written. */
  write(row: Row): Promise<Outcome>;
  /** Rows that are waiting or in flight. */
  readonly depth: number;
  /** Resolves when everything written so far has its outcome. */
  drained(): Promise<void>;
};

export type BatchWriterOptions = {
  readonly rowsMax?: number;
  /** A batch is closed early at this size; a single larger row is sent alone. */
  readonly bytesMax?: number;
  readonly inFlightMax?: number;
  /** Maximum of waiting and in-flight rows, and of their bytes; further rows are refused. */
  readonly depthMax?: number;
  readonly depthBytesMax?: number;
  /** Maximum time from `write` to the outcome, in every case. */
  readonly deadlineMs?: number;
};

/**
 * Asks `maySend` right before the statement is sent: if it fails earlier, or may not be sent, nothing was written. Undefined
 * if it may not.
 */
export type Send = (
  statement: pg.QueryConfig,
  maySend: () => boolean,
) => Promise<pg.QueryResult<object> | undefined>;

type Failure = { readonly error: StoreError; readonly verdict: Verdict };

const defaults: Required<BatchWriterOptions> = {
  rowsMax: 150,
  bytesMax: 1_048_576,
  inFlightMax: 2,
  depthMax: 10_000,
  depthBytesMax: 67_108_864,
  deadlineMs: 10_000,
};

const givenUpMeanwhile: Failure = {
  error: new StoreError('unavailable', 'A row of the batch passed its deadline before the batch was sent'),
  verdict: 'not-written',
};

/** For targets without `bytesOf`. */
const bytesAssumed = 256;

export class Writer<Row, Outcome> implements BatchWriter<Row, Outcome> {
  readonly #target: BatchTarget<Row, Outcome>;
  readonly #send: Send;
  readonly #time: Time;
  readonly #random: Random;
  readonly #limits: Required<BatchWriterOptions>;
  readonly #waiting = new FairQueue<Entry<Row, Outcome>>();
  /** The number of rows without an outcome, by owner. */
  readonly #openOf = new Map<string, number>();
  /** Every entry without an outcome, oldest first, so the first has the nearest deadline. */
  readonly #open: Set<Entry<Row, Outcome>> = new Set();
  readonly #drainers: (() => void)[] = [];
  #openBytes = 0;
  #inFlight = 0;
  /** In-flight batches whose first attempt failed. */
  #inTrouble = 0;
  #flushAsked = false;
  #deadline: Timer | undefined;

  constructor(
    target: BatchTarget<Row, Outcome>,
    send: Send,
    time: Time,
    random: Random,
    limits: BatchWriterOptions,
  ) {
    this.#target = target;
    this.#send = send;
    this.#time = time;
    this.#random = random;
    this.#limits = { ...defaults, ...limits };
  }

  get depth(): number {
    return this.#open.size;
  }

  write(row: Row): Promise<Outcome> {
    const { depthMax, depthBytesMax } = this.#limits;
    const bytes = this.#target.bytesOf?.(row) ?? bytesAssumed;
    // A single row may have any size: otherwise it would never fit.
    if (this.#open.size >= depthMax || (this.#open.size > 0 && this.#openBytes + bytes > depthBytesMax)) {
      return Promise.reject(
        new StoreError(
          'overloaded',
          `Writing ${this.#target.name}: ${this.#open.size} rows are already waiting`,
        ),
      );
    }
    const share = this.#target.shareOf?.(row);
    const ofShare = share === undefined ? 0 : (this.#openOf.get(share) ?? 0);
    if (ofShare >= depthMax / 2) {
      return Promise.reject(
        new StoreError(
          'overloaded',
          `Writing ${this.#target.name}: ${ofShare} rows of one owner are already waiting`,
        ),
      );
    }
    if (share !== undefined) this.#openOf.set(share, ofShare + 1);
    return new Promise<Outcome>((resolve, reject) => {
      const deadlineMs = this.#time.monotonicMs() + this.#limits.deadlineMs;
      const entry = new Entry(row, bytes, share, deadlineMs, resolve, reject);
      this.#waiting.push(share ?? '', entry);
      this.#open.add(entry);
      this.#openBytes += bytes;
      this.#deadline ??= this.#deadlineIn(this.#limits.deadlineMs);
      this.#askToFlush();
    });
  }

  async drained(): Promise<void> {
    if (this.#open.size === 0 && this.#inFlight === 0) return;
    await new Promise<void>((resolve) => void this.#drainers.push(resolve));
  }

  /** Flushes after the current events of the loop, so that rows that arrive together are written together. */
  #askToFlush(): void {
    if (this.#flushAsked || !this.#mayFlush()) return;
    this.#flushAsked = true;
    this.#time.soon(() => {
      this.#flushAsked = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#mayFlush()) {
      const batch = this.#takeBatch();
      if (batch.length === 0) continue;
      this.#inFlight += 1;
      void this.#carry(batch).finally(() => {
        this.#inFlight -= 1;
        this.#flush();
        this.#tellDrainers();
      });
    }
  }

  /**
   * A second batch starts beside the first only when it is full, or when the first has failed; otherwise rows wait for
   * the first to return, which makes fewer and larger commits.
   */
  #mayFlush(): boolean {
    const { rowsMax, inFlightMax } = this.#limits;
    return (
      this.#waiting.length > 0 &&
      this.#inFlight < inFlightMax &&
      (this.#inFlight === this.#inTrouble || this.#waiting.length >= rowsMax)
    );
  }

  #takeBatch(): readonly Entry<Row, Outcome>[] {
    const { rowsMax, bytesMax } = this.#limits;
    const batch: Entry<Row, Outcome>[] = [];
    let rows = 0;
    let bytes = 0;
    for (let entry = this.#waiting.peek(); entry !== undefined; entry = this.#waiting.peek()) {
      if (rows === rowsMax || (rows > 0 && bytes + entry.bytes > bytesMax)) break;
      this.#waiting.shift();
      rows += 1;
      bytes += entry.bytes;
      if (!entry.settled) batch.push(entry);
    }
    return batch;
  }

  /** Retries a batch until each of its rows has an outcome. Never throws. */
  async #carry(batch: readonly Entry<Row, Outcome>[]): Promise<void> {
    const failure = await this.#attempt(batch);
    if (failure === undefined) return;
    this.#inTrouble += 1;
    this.#flush();
    await this.#mend(batch, failure);
    this.#inTrouble -= 1;
  }

  async #mend(batch: readonly Entry<Row, Outcome>[], first: Failure): Promise<void> {
    let left = batch;
    let failure: Failure | undefined = first;
    for (let attempt = 1; failure !== undefined; attempt += 1) {
      const { error, verdict } = failure;
      if (verdict === 'all-are-wrong' || (verdict === 'one-is-wrong' && left.length === 1)) {
        for (const entry of left) this.#settle(entry, error);
        return;
      }
      if ((verdict === 'one-is-wrong' || verdict === 'one-may-be-held-up') && left.length > 1) {
        await this.#mendHalves(left);
        return;
      }
      await sleep(this.#time, backoffMs(attempt, { baseMs: 10, maxMs: 1_000 }, this.#random));
      left = left.filter((entry) => !entry.settled); // some may have passed their deadline
      failure = left.length === 0 ? undefined : await this.#attempt(left);
    }
  }

  /** Tries both halves before retrying either: a row that blocks one half must not delay the other. */
  async #mendHalves(batch: readonly Entry<Row, Outcome>[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2);
    const mending: Promise<void>[] = [];
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
      const refused = await this.#attempt(half);
      if (refused !== undefined) mending.push(this.#mend(half, refused));
    }
    await Promise.all(mending);
  }

  async #attempt(entries: readonly Entry<Row, Outcome>[]): Promise<Failure | undefined> {
    const rows = entries.map(({ row }) => row);
    const unknownBefore = entries.map((entry) => entry.unknown);
    try {
      const result = await this.#send(statementOf(this.#target, rows), () => {
        // A row that was given up as unsent, while the connection opened, must not be written after all: its caller may
        // have begun again under another key.
        if (entries.some(({ settled }) => settled)) return false;
        for (const entry of entries) entry.unknown = true;
        return true;
      });
      if (result === undefined) return givenUpMeanwhile;
      const outcomes = this.#target.outcomes(rows, result.rows);
      for (const [index, entry] of entries.entries()) {
        this.#settle(
          entry,
          outcomes[index] ?? new StoreError('defect', `${this.#target.name} returned no outcome for a row`),
        );
      }
      return undefined;
    } catch (error) {
      const attempted = `Writing ${this.#target.name}`;
      const translated = toStoreError(error, attempted);
      // Any other error was thrown by the target, most likely because of a row's value.
      const [failure, verdict]: [StoreError, Verdict] =
        translated instanceof StoreError
          ? [translated, classify(translated)]
          : [new StoreError('defect', attempted, { cause: error }), 'one-is-wrong'];
      if (verdict !== 'unknown') {
        for (const [index, entry] of entries.entries()) entry.unknown = unknownBefore[index] === true;
      }
      return { error: failure, verdict };
    }
  }

  #settle(entry: Entry<Row, Outcome>, outcome: Outcome | StoreError): void {
    if (entry.settled) return;
    entry.settle(outcome);
    this.#open.delete(entry);
    this.#openBytes -= entry.bytes;
    const { share } = entry;
    if (share === undefined) return;
    const left = (this.#openOf.get(share) ?? 1) - 1;
    if (left > 0) this.#openOf.set(share, left);
    else this.#openOf.delete(share);
  }

  /**
   * Ends what is overdue after the current events of the loop: timers come before what connections have received, so a
   * process that stood still would give up rows whose answers are there.
   */
  #deadlineIn(delayMs: number): Timer {
    return this.#time.after(delayMs, () => this.#time.soon(() => this.#endOverdue()));
  }

  /** The deadline also applies to waiting rows, and to rows on a connection that no longer responds. */
  #endOverdue(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
    const now = this.#time.monotonicMs();
    for (const entry of this.#open) {
      if (entry.deadlineMs > now) {
        this.#deadline = this.#deadlineIn(entry.deadlineMs - now);
        break;
      }
      const failure = entry.unknown ? 'outcome-unknown' : 'unavailable';
      this.#settle(
        entry,
        new StoreError(
          failure,
          `Writing ${this.#target.name}: no commit within ${this.#limits.deadlineMs} ms`,
        ),
      );
    }
    this.#tellDrainers();
  }

  #tellDrainers(): void {
    if (this.#open.size > 0 || this.#inFlight > 0) return;
    this.#deadline?.cancel();
    this.#deadline = undefined;
    for (const resolve of this.#drainers.splice(0)) resolve();
  }
}
