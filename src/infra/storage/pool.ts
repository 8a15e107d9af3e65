// A pool of connections that have entered one role. Its clients are pg's own.
import pg from 'pg';
import { assertRole, clientConfig } from './connection.js';
import type { ConnectionSettings } from './connection.js';
import { StoreError, toStoreError } from './errors.js';
import { FairQueue } from './fair-queue.js';
import type { Statements } from './queries.js';

export type PoolSettings = ConnectionSettings & {
  readonly connectionsMax: number;
  /** As many may wait for a connection; the next is refused, since waiting longer helps nobody. */
  readonly waitingMax: number;
};

export type Pool = {
  /**
   * `share`: whose work it is. Those who wait get a connection in turn, one of each share, and one share may be half of
   * those who wait: a tenant with a thousand turns that end holds up nobody who has one thing to ask.
   */
  use<Result>(share: string | undefined, work: (session: Session) => Promise<Result>): Promise<Result>;
  /** Waits for those who have a connection. */
  end(): Promise<void>;
};

const idleMs = 60_000;

export function openPool({ connectionsMax, waitingMax, ...settings }: PoolSettings): Pool {
  const config = clientConfig(settings);
  const pool = new pg.Pool({
    ...poolConfig(config),
    max: connectionsMax,
    idleTimeoutMillis: idleMs,
  });
  ignoreIdleLosses(pool);
  const checked = new WeakSet<pg.PoolClient>();
  const waiting = new FairQueue<() => void>();
  let inside = 0;
  const enter = (share: string | undefined): Promise<void> | undefined => {
    if (inside < connectionsMax) {
      inside += 1;
      return undefined;
    }
    const ofShare = share === undefined ? 0 : waiting.lengthOf(share);
    if (waiting.length >= waitingMax || ofShare >= waitingMax / 2) {
      throw new StoreError(
        'overloaded',
        `Opening a transaction: ${waiting.length} others wait for a connection`,
      );
    }
    return new Promise((resolve) => waiting.push(share ?? '', resolve));
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) inside -= 1;
    else next();
  };
  const connected = async <Result>(work: (session: Session) => Promise<Result>): Promise<Result> => {
    const client = await pool.connect().catch((error: unknown) => {
      throw toStoreError(error, 'Opening a connection');
    });
    const session = new Session(client);
    try {
      if (!checked.has(client)) {
        assertRole((await session.query('select current_user')).rows, settings.role);
        checked.add(client);
      }
      return await work(session);
    } finally {
      client.release(session.broken || !checked.has(client));
    }
  };
  return {
    async use(share, work) {
      await enter(share);
      try {
        return await connected(work);
      } finally {
        leave();
      }
    },
    end: () => pool.end(),
  };
}

/** Waiting for a place has no limit of its own; opening a connection has. */
export function poolConfig(config: pg.ClientConfig): pg.PoolConfig {
  return {
    ...config,
    connectionTimeoutMillis: 0,
    Client: class extends pg.Client {
      constructor() {
        super(config);
      }
    },
  };
}

/** A connection that breaks fails the statement that it carries; one that carries none is replaced when needed. */
export function ignoreIdleLosses(pool: pg.Pool): void {
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
}

/** A connection in somebody's hands. What it throws is the store's. */
export class Session implements Statements {
  readonly #client: pg.PoolClient;
  #broken = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  /** Nobody knows its state any more. */
  get broken(): boolean {
    return this.#broken;
  }

  /** It is closed instead of lent again. */
  discard(): void {
    this.#broken = true;
  }

  async query(text: string, values?: unknown[]): Promise<pg.QueryResult<Record<string, unknown>>> {
    try {
      return await this.#client.query<Record<string, unknown>>(text, values);
    } catch (error) {
      // After a refusal the connection is as good as before; after anything else nobody knows.
      const translated = toStoreError(error, 'A statement');
      if (!(error instanceof pg.DatabaseError)) this.#broken = true;
      else if (translated instanceof StoreError && translated.failure === 'unavailable') this.#broken = true;
      throw translated;
    }
  }
}
