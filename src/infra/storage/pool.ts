// A pool of connections that use one role, on top of pg's clients.
import pg from 'pg';
import { checkServer, clientConfig } from './connection.js';
import type { ConnectionSettings } from './connection.js';
import { StoreError, toStoreError } from './errors.js';
import { TaskLimiter } from '../../kernel/task-limiter.js';
import type { Statements } from './queries.js';

export type PoolSettings = ConnectionSettings & {
  readonly connectionsMax: number;
  /** Maximum of connections for one share; all of them without it. */
  readonly ofShareMax?: number;
  /** Maximum number of waiters for a connection; further ones are refused, because a longer wait helps nobody. */
  readonly waitingMax: number;
};

export type Pool = {
  /**
   * `share`: the owner of the work. Waiting shares take turns, and one share may be at most half of the waiters: a tenant
   * with a thousand ending turns does not delay a tenant with one request. Nor does one with slow reports, which cannot
   * have all connections.
   */
  use<Result>(share: string | undefined, work: (session: Session) => Promise<Result>): Promise<Result>;
  /** Waits for all work that has a connection. */
  end(): Promise<void>;
};

const idleMs = 60_000;
/** Work of the installation, in a pool without shares. */
const noShare = '';

export function openPool({
  connectionsMax,
  ofShareMax = connectionsMax,
  waitingMax,
  ...settings
}: PoolSettings): Pool {
  const config = clientConfig(settings);
  const pool = new pg.Pool({
    ...poolConfig(config),
    max: connectionsMax,
    idleTimeoutMillis: idleMs,
  });
  ignoreIdleLosses(pool);
  const checked = new WeakSet<pg.PoolClient>();
  const places = new TaskLimiter({ all: connectionsMax, each: ofShareMax });
  const refuseIfFull = (share: string): void => {
    if (places.hasPlace(share)) return;
    const { waitingCount } = places;
    if (waitingCount >= waitingMax || (share !== noShare && places.waitingOf(share) >= waitingMax / 2)) {
      throw new StoreError(
        'overloaded',
        `Opening a transaction: ${waitingCount} others are waiting for a connection`,
      );
    }
  };
  const connected = async <Result>(work: (session: Session) => Promise<Result>): Promise<Result> => {
    const client = await pool.connect().catch((error: unknown) => {
      throw toStoreError(error, 'Opening a connection');
    });
    const session = new Session(client);
    try {
      if (!checked.has(client)) {
        await checkServer(session, settings.role);
        checked.add(client);
      }
      return await work(session);
    } finally {
      client.release(session.broken || !checked.has(client));
    }
  };
  return {
    async use(share = noShare, work) {
      refuseIfFull(share);
      return places.run(share, () => connected(work));
    },
    end: () => pool.end(),
  };
}

/** Waiting for a free connection has no time limit here; opening a connection has one. */
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

/** A broken connection fails its current statement; an idle one is replaced when needed. */
export function ignoreIdleLosses(pool: pg.Pool): void {
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
}

/** A connection in use. It throws the errors of the store. */
export class Session implements Statements {
  readonly #client: pg.PoolClient;
  #broken = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  /** True if its state is unknown. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Closes the connection instead of returning it to the pool. */
  discard(): void {
    this.#broken = true;
  }

  async query(text: string, values?: unknown[]): Promise<pg.QueryResult<Record<string, unknown>>> {
    try {
      return await this.#client.query<Record<string, unknown>>(text, values);
    } catch (error) {
      // After a refusal the connection is intact; after any other error its state is unknown.
      const translated = toStoreError(error, 'A statement');
      if (!(error instanceof pg.DatabaseError)) this.#broken = true;
      else if (translated instanceof StoreError && translated.failure === 'unavailable') this.#broken = true;
      throw translated;
    }
  }
}
