import pg from 'pg';
import { ClusterError } from '../../errors.js';
import type { Time } from '../../time/time.js';
import { isStatementError, storeUnavailable, UnusableWrite } from './failures.js';

export interface ConnectionsOptions {
  readonly databaseUrl: string;
  /** Role set on each connection; its policies let one batch write rows of many groups. */
  readonly role?: string;
  readonly connectionsMax: number;
  readonly statementTimeoutMs: number;
  /** How long a statement waits for a lock; by default as long as it may run. */
  readonly lockTimeoutMs?: number;
  readonly connectTimeoutMs: number;
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
 * Without these settings PostgreSQL replans a statement several times, which costs more than running it, for the same
 * plan. It also keeps a plan made for a small table for a minute or more, which would scan the whole table: every row
 * is found by its key.
 */
const planning = [
  '-c plan_cache_mode=force_generic_plan',
  '-c enable_seqscan=off',
  '-c enable_hashjoin=off',
  '-c enable_mergejoin=off',
];

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
 * Firewalls and balancers forget a silent connection after some minutes and report it to nobody: the next statement would
 * wait for its whole time-out. The system's own first probe comes after two hours.
 */
const keepAliveDelayMs = 30_000;

/** Time beyond the server's statement time-out after which the connection counts as dead. */
const timeoutMarginMs = 2_000;

/**
 * A few connections to a server that writes. Each runs one transaction at a time and pipelines its statements. A
 * connection is discarded after any failure except a refused statement.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  /** The last one used is at the end. */
  readonly #idle: { readonly client: pg.Client; readonly sinceMs: number }[] = [];
  readonly #plans = new WeakMap<pg.Client, { usesLeft: number; kept: number }>();
  readonly #waiting: ((client: pg.Client | undefined) => void)[] = [];
  #open = 0;
  #closed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
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
    const { databaseUrl, role, statementTimeoutMs, connectTimeoutMs } = this.#options;
    const { lockTimeoutMs = statementTimeoutMs } = this.#options;
    this.#open += 1;
    const client = new pg.Client({
      connectionString: databaseUrl,
      options: [...(role === undefined ? [] : [`-c role=${role}`]), ...planning].join(' '),
      application_name: 'troupe actors',
      connectionTimeoutMillis: connectTimeoutMs,
      statement_timeout: statementTimeoutMs,
      lock_timeout: lockTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs,
      query_timeout: statementTimeoutMs + timeoutMarginMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveDelayMs,
      pipeline: true,
    });
    client.on('error', () => this.#drop(client));
    try {
      await client.connect();
      await refuseUnlessWriting(client);
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

/**
 * During a failover the address may lead to a standby for a moment, or to a primary that does not write yet. A connection
 * to it stays there and fails at each write, or answers a read without what was committed since.
 */
async function refuseUnlessWriting(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ is_standby: boolean; is_read_only: boolean }>(
    `select pg_is_in_recovery() as is_standby, current_setting('transaction_read_only')::boolean as is_read_only`,
  );
  const [server] = rows;
  if (server?.is_standby !== false) {
    throw new ClusterError(
      'store_unavailable',
      'the address of PostgreSQL leads to a standby, not to the primary',
    );
  }
  if (server.is_read_only) {
    throw new ClusterError(
      'store_unavailable',
      'PostgreSQL is read-only (default_transaction_read_only is on)',
    );
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
