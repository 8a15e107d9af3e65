// Group commit. Rows of many callers, and of many tenants, go into one statement: at once when nothing is
// on its way, else when the last commit returns. So a lone row waits for nobody, and under load batches
// grow by themselves (50–100 rows give 4–5 times the rows per second of single inserts, measured). There
// is no timer to wait for.
//
// When a connection is lost during the commit, nobody knows whether the rows were written. The writer
// repeats the same rows, whose keys were fixed before the first attempt and which are inserted only if
// absent, until it knows, or until their deadline passes.
//
// A row that PostgreSQL refuses must not fail its neighbours: a refused batch is halved until the culprit
// stands alone.
import pg from 'pg';
import { backoffMs, sleep } from '../../cluster/index.js';
import type { Random, Time, Timer } from '../../cluster/index.js';
import type { BatchTarget } from './batch-target.js';
import { assertRole, clientConfig } from './connection.js';
import { StoreError, toStoreError } from './errors.js';
import { writerRole } from './roles.js';

export type BatchWriter<Row, Outcome> = {
  /** Resolves after the commit. Rejects with a StoreError; `outcome-unknown` if even that could not be found out. */
  write(row: Row): Promise<Outcome>;
  /** Rows that are waiting or on their way. */
  readonly depth: number;
  /** Resolves when everything written so far has its outcome. */
  drained(): Promise<void>;
};

export type BatchWriterOptions = {
  readonly rowsMax?: number;
  readonly inFlightMax?: number;
  /** Waiting rows; the next is refused. */
  readonly depthMax?: number;
  /** From `write` to the outcome, whatever happens. */
  readonly deadlineMs?: number;
};

export type BatchWriters = {
  writer<Row, Outcome>(
    target: BatchTarget<Row, Outcome>,
    options?: BatchWriterOptions,
  ): BatchWriter<Row, Outcome>;
  /** Waits for all rows and closes the connections. */
  close(): Promise<void>;
};

export type BatchWritersOptions = {
  readonly databaseUrl: string;
  readonly time: Time;
  readonly random: Random;
  readonly connectionsMax?: number;
  readonly statementTimeoutMs?: number;
};

/** Calls `onSent` right before the statement leaves: what failed earlier was surely not written. */
type Send = (statement: pg.QueryConfig, onSent: () => void) => Promise<pg.QueryResult<object>>;

/** The connections that all batching writers of a node share. */
export function openBatchWriters(options: BatchWritersOptions): BatchWriters {
  const { databaseUrl, time, random, connectionsMax = 6, statementTimeoutMs = 3_000 } = options;
  const pool = new pg.Pool({
    ...clientConfig({ databaseUrl, role: writerRole, statementTimeoutMs }),
    max: connectionsMax,
  });
  // A connection that breaks fails the statement that it carries; one that carries none is replaced when
  // the next is needed.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const checked = new WeakSet<pg.PoolClient>();
  const send: Send = async (statement, onSent) => {
    const client = await pool.connect();
    try {
      if (!checked.has(client)) {
        assertRole((await client.query('select current_user')).rows, writerRole);
        checked.add(client);
      }
      onSent();
      const result = await client.query<object>(statement);
      client.release();
      return result;
    } catch (error) {
      client.release(true); // whatever state it is in
      throw error;
    }
  };
  const writers = new Set<{ drained(): Promise<void> }>();
  return {
    writer: (target, limits = {}) => {
      const writer = new Writer(target, send, time, random, limits);
      writers.add(writer);
      return writer;
    },
    close: async () => {
      await Promise.all([...writers].map((writer) => writer.drained()));
      await pool.end();
    },
  };
}

class Entry<Row, Outcome> {
  readonly row: Row;
  readonly deadlineMs: number;
  /** Whether it may have been written without our knowing: sent, and PostgreSQL has not said that it was undone. */
  unknown = false;
  settled = false;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    row: Row,
    deadlineMs: number,
    resolve: (outcome: Outcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.row = row;
    this.deadlineMs = deadlineMs;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  settle(outcome: Outcome | StoreError): void {
    this.settled = true;
    if (outcome instanceof StoreError) this.#reject(outcome);
    else this.#resolve(outcome);
  }
}

/** What a failed statement says about the rows in it. */
type Verdict = 'not-written' | 'one-is-wrong' | 'all-are-wrong' | 'unknown';

class Writer<Row, Outcome> implements BatchWriter<Row, Outcome> {
  readonly #target: BatchTarget<Row, Outcome>;
  readonly #send: Send;
  readonly #time: Time;
  readonly #random: Random;
  readonly #limits: Required<BatchWriterOptions>;
  readonly #waiting: Entry<Row, Outcome>[] = [];
  /** Every entry without an outcome, oldest first, so the first has the nearest deadline. */
  readonly #open: Set<Entry<Row, Outcome>> = new Set();
  readonly #drainers: (() => void)[] = [];
  #inFlight = 0;
  #flushAsked = false;
  #deadline: Timer | undefined;

  constructor(
    target: BatchTarget<Row, Outcome>,
    send: Send,
    time: Time,
    random: Random,
    { rowsMax = 150, inFlightMax = 2, depthMax = 10_000, deadlineMs = 10_000 }: BatchWriterOptions,
  ) {
    this.#target = target;
    this.#send = send;
    this.#time = time;
    this.#random = random;
    this.#limits = { rowsMax, inFlightMax, depthMax, deadlineMs };
  }

  get depth(): number {
    return this.#open.size;
  }

  write(row: Row): Promise<Outcome> {
    if (this.#open.size >= this.#limits.depthMax) {
      return Promise.reject(
        new StoreError(
          'overloaded',
          `Writing ${this.#target.name}: ${this.#limits.depthMax} rows wait already`,
        ),
      );
    }
    return new Promise<Outcome>((resolve, reject) => {
      const deadlineMs = this.#time.monotonicMs() + this.#limits.deadlineMs;
      const entry = new Entry(row, deadlineMs, resolve, reject);
      this.#waiting.push(entry);
      this.#open.add(entry);
      this.#deadline ??= this.#time.after(this.#limits.deadlineMs, () => this.#endOverdue());
      this.#askToFlush();
    });
  }

  async drained(): Promise<void> {
    if (this.#open.size === 0 && this.#inFlight === 0) return;
    await new Promise<void>((resolve) => void this.#drainers.push(resolve));
  }

  /** Once what the event loop holds now is done: rows that come together go together. */
  #askToFlush(): void {
    if (this.#flushAsked || this.#inFlight >= this.#limits.inFlightMax) return;
    this.#flushAsked = true;
    this.#time.soon(() => {
      this.#flushAsked = false;
      this.#flush();
    });
  }

  #flush(): void {
    const { rowsMax, inFlightMax } = this.#limits;
    // The second batch starts beside the first only when it is full; else rows wait for the first to
    // return, which makes fewer and larger commits.
    while (
      this.#waiting.length > 0 &&
      (this.#inFlight === 0 || (this.#inFlight < inFlightMax && this.#waiting.length >= rowsMax))
    ) {
      const batch = this.#waiting.splice(0, rowsMax).filter((entry) => !entry.settled);
      if (batch.length === 0) continue;
      this.#inFlight += 1;
      void this.#carry(batch).finally(() => {
        this.#inFlight -= 1;
        this.#flush();
        this.#tellDrainers();
      });
    }
  }

  /** Stays with a batch until every row of it has an outcome. Never throws. */
  async #carry(batch: readonly Entry<Row, Outcome>[]): Promise<void> {
    let left = batch;
    for (let attempt = 1; left.length > 0; attempt += 1) {
      const failure = await this.#attempt(left);
      if (failure === undefined) return;
      const { error, verdict } = failure;
      if (verdict === 'all-are-wrong' || (verdict === 'one-is-wrong' && left.length === 1)) {
        for (const entry of left) this.#settle(entry, error);
        return;
      }
      if (verdict === 'one-is-wrong') {
        const middle = Math.ceil(left.length / 2);
        await this.#carry(left.slice(0, middle));
        await this.#carry(left.slice(middle));
        return;
      }
      await sleep(this.#time, backoffMs(attempt, { baseMs: 10, maxMs: 1_000 }, this.#random));
      left = left.filter((entry) => !entry.settled); // the deadline of some may have passed
    }
  }

  async #attempt(
    entries: readonly Entry<Row, Outcome>[],
  ): Promise<{ error: StoreError; verdict: Verdict } | undefined> {
    const rows = entries.map(({ row }) => row);
    const unknownBefore = entries.map((entry) => entry.unknown);
    try {
      const { name, text } = this.#target;
      const result = await this.#send({ name, text, values: this.#target.values(rows) }, () => {
        for (const entry of entries) entry.unknown = true;
      });
      const outcomes = this.#target.outcomes(rows, result.rows);
      for (const [index, entry] of entries.entries()) {
        this.#settle(entry, outcomes[index] ?? new StoreError('defect', `${name} gave a row no outcome`));
      }
      return undefined;
    } catch (error) {
      const attempted = `Writing ${this.#target.name}`;
      const translated = toStoreError(error, attempted);
      // What is no failure of the store was thrown by the target, most likely about a row's value.
      const [failure, verdict]: [StoreError, Verdict] =
        translated instanceof StoreError
          ? [translated, judge(translated)]
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
  }

  /** The deadline holds also for rows that wait, and for those on a connection that says nothing any more. */
  #endOverdue(): void {
    this.#deadline = undefined;
    const now = this.#time.monotonicMs();
    for (const entry of this.#open) {
      if (entry.deadlineMs > now) {
        this.#deadline = this.#time.after(entry.deadlineMs - now, () => this.#endOverdue());
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

function judge({ failure, sqlState }: StoreError): Verdict {
  switch (failure) {
    case 'unique':
    case 'foreign-key':
    case 'check':
    case 'not-null':
    case 'invalid-value':
    case 'forbidden':
      return 'one-is-wrong';
    case 'conflict':
    case 'timeout':
      return 'not-written'; // PostgreSQL has undone it and said so
    case 'unavailable':
    case 'overloaded':
    case 'outcome-unknown':
      return 'unknown';
    case 'unexpected-row':
    case 'defect':
      // An exception of a trigger is about a row; anything else is about the statement.
      return sqlState?.startsWith('P0') === true ? 'one-is-wrong' : 'all-are-wrong';
  }
}
