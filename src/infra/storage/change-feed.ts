// The change feed of one node. It reads new changes every half second on its own connection; a PostgreSQL
// notification only triggers an earlier read. Change numbers have no gaps and become visible in order (see the
// migration), so the last number is all that the feed must remember.
import pg from 'pg';
import { z } from 'zod';
import { backoffMs } from '../../../cluster/index.js';
import type { Random, Time } from '../../../cluster/index.js';
import type { Change } from './changes.js';
import { checkServer, clientConfig } from './connection.js';
import { toStoreError } from './errors.js';
import { directoryRole } from './roles.js';

export type ChangeSubscriber = {
  /** One change of the topic, in order. Must not throw; must only drop cached data, not load any. */
  onChange(change: Change): void;
  /** The feed missed changes (it was disconnected for too long): drop everything of the topic. */
  onDropEverything(): void;
};

export type ChangeFeed = {
  /** Subscribes to one topic until the returned function is called. */
  subscribe(topic: string, subscriber: ChangeSubscriber): () => void;
  /**
   * Whether cached data may be used. False if this node could not read the changes for two seconds; callers must
   * then read from the store.
   */
  isFresh(): boolean;
  /** The number of the last change delivered to subscribers. Data loaded from before it may be stale. */
  readonly position: number;
  /** Resolves to true once change `number` is delivered to subscribers, or to false after the time limit. */
  reached(number: number, withinMs: number): Promise<boolean>;
  close(): Promise<void>;
};

export type ChangeFeedOptions = {
  readonly databaseUrl: string;
  readonly time: Time;
  readonly random: Random;
  /** Called when the feed cannot read, or when a subscriber throws. */
  readonly onProblem: (error: unknown) => void;
};

const pollMs = 500;
const freshMs = 2_000;
const rowsMax = 500;
/** A node disconnected for longer drops everything. */
const retained = '1 hour';
const pruneMs = 300_000;

// One statement, so that the counter and the rows are of the same moment. `mark` is the time of the row read last: if a
// failed-over database has given that number to another change, it differs.
const readText = `
  select c.last_number, (select recorded_at::text from changes where number = $1) as mark,
         n.number, n.topic, n.about_tenant, n.subject, n.recorded_at::text as recorded_at
  from change_counter c
  left join lateral (select * from changes where number > $1 order by number limit ${rowsMax}) n on true
  order by n.number`;

const readRow = z.object({
  last_number: z.number(),
  mark: z.string().nullable(),
  number: z.number().nullable(),
  topic: z.string().nullable(),
  about_tenant: z.string().nullable(),
  subject: z.string().nullable(),
  recorded_at: z.string().nullable(),
});
type ReadRow = z.infer<typeof readRow>;

/** Resolves once the current number is known: the feed covers everything loaded from then on. */
export async function openChangeFeed(options: ChangeFeedOptions): Promise<ChangeFeed> {
  const feed = new Feed(options);
  await feed.start();
  return feed;
}

class Feed implements ChangeFeed {
  readonly #options: ChangeFeedOptions;
  readonly #subscribers = new Map<string, Set<ChangeSubscriber>>();
  readonly #waiters = new Set<() => void>();
  readonly #closing = new AbortController();
  #client: pg.Client | undefined;
  #running: Promise<void> = Promise.resolve();
  #position = 0;
  /** `recorded_at` of the change at `#position`, if this node has read it. */
  #mark: string | undefined;
  #fresh = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY };
  #prunedAtMs: number;
  #hinted = false;
  #wake: (() => void) | undefined;

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
    // Delayed by a random time, so that nodes do not prune at the start and not at the same moment.
    this.#prunedAtMs = options.time.monotonicMs() - options.random.fraction() * pruneMs;
  }

  get position(): number {
    return this.#position;
  }

  async start(): Promise<void> {
    try {
      this.#client = await this.#connect();
      const { rows } = await this.#client.query('select last_number from change_counter');
      this.#position = z.object({ last_number: z.number() }).parse(rows[0]).last_number;
      await this.#read(this.#client);
    } catch (error) {
      await this.#disconnect();
      throw toStoreError(error, 'Opening the change feed');
    }
    this.#running = this.#run();
  }

  subscribe(topic: string, subscriber: ChangeSubscriber): () => void {
    const subscribers = this.#subscribers.get(topic) ?? new Set();
    this.#subscribers.set(topic, subscribers.add(subscriber));
    return () => subscribers.delete(subscriber);
  }

  isFresh(): boolean {
    // The monotonic clock stops while a machine is suspended, and the wall clock may be set back: use the larger value.
    const { time } = this.#options;
    const elapsedMs = Math.max(
      time.monotonicMs() - this.#fresh.monotonicMs,
      time.wallMs() - this.#fresh.wallMs,
    );
    return elapsedMs < freshMs;
  }

  async reached(number: number, withinMs: number): Promise<boolean> {
    this.#hint();
    const { time } = this.#options;
    const deadlineMs = time.monotonicMs() + withinMs;
    while (this.#position < number) {
      const leftMs = deadlineMs - time.monotonicMs();
      if (leftMs <= 0) return false;
      await new Promise<void>((resolve) => {
        const done = (): void => {
          timer.cancel();
          this.#waiters.delete(done);
          resolve();
        };
        const timer = time.after(leftMs, done);
        this.#waiters.add(done);
      });
    }
    return true;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#hint();
    await this.#running;
    await this.#disconnect();
  }

  async #run(): Promise<void> {
    const { time, random, onProblem } = this.#options;
    let failures = 0;
    while (!this.#closing.signal.aborted) {
      try {
        this.#client ??= await this.#connect();
        await this.#read(this.#client);
        await this.#prune(this.#client);
        failures = 0;
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        onProblem(toStoreError(error, 'Reading changes'));
        await this.#disconnect();
        failures += 1;
      }
      await this.#pause(
        failures === 0 ? pollMs : backoffMs(failures, { baseMs: 20, maxMs: pollMs }, random),
        time,
      );
    }
  }

  /** Waits until the time is over or a notification arrives. */
  async #pause(pauseMs: number, time: Time): Promise<void> {
    if (!this.#hinted && !this.#closing.signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = time.after(pauseMs, resolve);
        this.#wake = () => {
          timer.cancel();
          resolve();
        };
      });
      this.#wake = undefined;
    }
    this.#hinted = false;
  }

  #hint(): void {
    this.#hinted = true;
    this.#wake?.();
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client(
      clientConfig({
        databaseUrl: this.#options.databaseUrl,
        role: directoryRole,
        statementTimeoutMs: 1_500,
      }),
    );
    client.on('notification', () => this.#hint());
    // The next read fails as well and reports the error.
    client.on('error', () => this.#hint());
    try {
      await client.connect();
      await checkServer(client, directoryRole);
      await client.query('listen troupe_changes');
    } catch (error) {
      await client.end();
      throw error;
    }
    return client;
  }

  async #disconnect(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  async #read(client: pg.Client): Promise<void> {
    const { time } = this.#options;
    for (;;) {
      const asOf = { monotonicMs: time.monotonicMs(), wallMs: time.wallMs() };
      const result = await client.query({ name: 'read_changes', text: readText, values: [this.#position] });
      const [first, ...others] = z.array(readRow).parse(result.rows);
      if (first === undefined) throw new Error('The table change_counter has no row');
      this.#apply([first, ...others]);
      if (this.#position === first.last_number) {
        this.#fresh = asOf;
        return;
      }
    }
  }

  #apply(rows: readonly [ReadRow, ...ReadRow[]]): void {
    const { last_number: last, mark } = rows[0];
    const first = rows[0].number;
    const forgotten =
      last < this.#position || (mark !== null && this.#mark !== undefined && mark !== this.#mark);
    const pruned = last > this.#position && first !== this.#position + 1;
    if (forgotten || pruned) {
      this.#position = last;
      this.#mark = undefined;
      for (const subscriber of [...this.#subscribers.values()].flatMap((set) => [...set])) {
        this.#tell(() => subscriber.onDropEverything());
      }
    } else {
      for (const { number, topic, about_tenant: tenantId, subject, recorded_at: recordedAt } of rows) {
        if (number === null || topic === null || subject === null) continue;
        this.#position = number;
        this.#mark = recordedAt ?? undefined;
        for (const subscriber of this.#subscribers.get(topic) ?? []) {
          this.#tell(() => subscriber.onChange({ number, topic, tenantId, subject }));
        }
      }
    }
    for (const done of this.#waiters) done();
  }

  #tell(subscriber: () => void): void {
    try {
      subscriber();
    } catch (error) {
      // Other subscribers must still receive the change.
      this.#options.onProblem(new Error('A subscriber of the change feed threw an error', { cause: error }));
    }
  }

  async #prune(client: pg.Client): Promise<void> {
    if (this.#options.time.monotonicMs() - this.#prunedAtMs < pruneMs) return;
    this.#prunedAtMs = this.#options.time.monotonicMs();
    await client.query(`delete from changes where recorded_at < clock_timestamp() - interval '${retained}'`);
  }
}
