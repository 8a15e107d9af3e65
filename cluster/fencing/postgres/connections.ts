import pg from 'pg';
import { ClusterError } from '../../errors.js';
import type { Time } from '../../time/time.js';
import { isRefusal, isStatementError, storeUnavailable, UnusableWrite } from './failures.js';
import { checkServer, clientConfig, type ServerOptions } from './server.js';

export interface ConnectionsOptions extends ServerOptions {
  readonly connectionsMax: number;
  readonly time: Time;
}

export interface Statement {
  /** Unique in the program: PostgreSQL caches the plan under this name. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

export type Row = Readonly<Record<string, unknown>>;

/**
 * How often a connection is used before it makes its plans again. For an empty table every index looks the same to the
 * planner: a plan made then finds one row among all rows of a tenant, until PostgreSQL collects statistics a minute
 * later. Counted in uses, because tables grow by uses; each time twice as many, because a plan stays right until a table
 * has grown to a multiple. Making the plans of a turn takes PostgreSQL as long as ten turns.
 */
const plansKeptUses = { first: 256, most: 4_096 };

/** After this time without use a connection is closed. A burst opens all of them, and the last one used is used again. */
const idleMs = 60_000;

/**
 * A few connections to a server that writes. Each runs one transaction at a time and pipelines its statements. A
 * connection is discarded after any failure except a refused statement.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #config: pg.ClientConfig;
  /** The last one used is at the end. */
  readonly #idle: { readonly client: pg.Client; readonly sinceMs: number }[] = [];
  readonly #plans = new WeakMap<pg.Client, { usesLeft: number; kept: number }>();
  readonly #waiting: ((client: pg.Client | undefined) => void)[] = [];
  #open = 0;
  #closed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#config = clientConfig(options);
  }

  async use<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
    const client = await this.#take();
    let isSound = false;
    try {
      if (this.#hasOldPlans(client)) await client.query('discard plans');
      const result = await work(client);
      isSound = true;
      return result;
    } catch (error) {
      // A refused statement leaves the connection usable, possibly with an open transaction; so does one never sent.
      if (isStatementError(error) || error instanceof UnusableWrite) isSound = await rolledBack(client);
      // An error that ends the connection is not about the statement, whatever its code says.
      if (!isSound && isRefusal(error)) throw new Error('PostgreSQL ended the connection', { cause: error });
      throw error;
    } finally {
      this.#giveBack(client, isSound);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const wake of this.#waiting.splice(0)) wake(undefined);
    await Promise.all(this.#idle.splice(0).map(({ client }) => client.end()));
  }

  #hasOldPlans(client: pg.Client): boolean {
    const { first, most } = plansKeptUses;
    let plans = this.#plans.get(client);
    if (plans === undefined) this.#plans.set(client, (plans = { usesLeft: first, kept: first }));
    plans.usesLeft -= 1;
    if (plans.usesLeft >= 0) return false;
    plans.kept = Math.min(plans.kept * 2, most);
    plans.usesLeft = plans.kept - 1;
    return true;
  }

  async #take(): Promise<pg.Client> {
    if (this.#closed) throw new ClusterError('store_unavailable', 'the store is closed');
    this.#endLongIdle();
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle.client;
    if (this.#open < this.#options.connectionsMax) return this.#connect();
    const handed = await new Promise<pg.Client | undefined>((resolve) => this.#waiting.push(resolve));
    return handed ?? this.#take();
  }

  #giveBack(client: pg.Client, isSound: boolean): void {
    if (isSound && !this.#closed) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#idle.push({ client, sinceMs: this.#options.time.monotonicMs() });
      else waiting(client);
      return;
    }
    this.#open -= 1;
    this.#end(client);
    // A waiting caller opens a connection of its own.
    this.#waiting.shift()?.(undefined);
  }

  async #connect(): Promise<pg.Client> {
    this.#open += 1;
    const client = new pg.Client(this.#config);
    client.on('error', () => this.#drop(client));
    try {
      await client.connect();
      await checkServer(client, this.#options.role);
      return client;
    } catch (error) {
      this.#open -= 1;
      this.#end(client);
      this.#waiting.shift()?.(undefined);
      throw storeUnavailable('PostgreSQL cannot be reached', error);
    }
  }

  #endLongIdle(): void {
    const keptSinceMs = this.#options.time.monotonicMs() - idleMs;
    for (;;) {
      const [longest] = this.#idle;
      if (longest === undefined || longest.sinceMs >= keptSinceMs) return;
      this.#drop(longest.client);
    }
  }

  /** An idle connection was lost or is too old. pg rejects statements in flight by itself. */
  #drop(client: pg.Client): void {
    const index = this.#idle.findIndex((idle) => idle.client === client);
    if (index < 0) return;
    this.#idle.splice(index, 1);
    this.#open -= 1;
    this.#end(client);
  }

  #end(client: pg.Client): void {
    // The connection is broken or about to break; there is nothing left to handle.
    client.end().catch(() => undefined);
  }
}

function rolledBack(client: pg.Client): Promise<boolean> {
  return client.query('rollback').then(
    () => true,
    () => false,
  );
}

/** Sends all statements at once, waits for all answers and throws the first failure. */
export async function pipelined(
  client: pg.Client,
  statements: readonly (Statement | string)[],
): Promise<pg.QueryResult[]> {
  const answers = await settled(client, statements);
  return answers.map((answer) => {
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  });
}

/** Sends all statements at once, in one write: otherwise each statement wakes the server, and each answer this process. */
export function settled(
  client: pg.Client,
  statements: readonly (Statement | string)[],
): Promise<PromiseSettledResult<pg.QueryResult>[]> {
  const { stream } = client.connection;
  stream.cork();
  const asked = statements.map((statement) =>
    typeof statement === 'string'
      ? client.query(statement)
      : client.query({ name: statement.name, text: statement.text, values: [...statement.values] }),
  );
  stream.uncork();
  return Promise.allSettled(asked);
}
