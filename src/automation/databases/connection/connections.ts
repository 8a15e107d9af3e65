import type { TenantScope } from '../../../kernel/tenant-scope.js';
import { ConnectionSlots } from './connection-places.js';
import { type ConnectionParts, DatabaseConnection, limitMs, type Target } from './database-connection.js';
import { DatabaseError } from './database-error.js';

/** The bound of connections for one request, whose caller waits. */
const questions = { ofTenant: 8, ofNode: 64 };
/** The bound of lasting connections: each poller has up to two. */
const lasting = { ofTenant: 64, ofNode: 1_024 };

/** Work with one deadline; its signal is aborted at the deadline, when the caller leaves, or when the node stops. */
export type Timed = <Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  asker?: AbortSignal,
) => Promise<Result>;

/** All connections of this node to tenants' databases. */
export class Connections {
  readonly #parts: ConnectionParts;
  readonly #questions = new ConnectionSlots(questions);
  readonly #lasting = new ConnectionSlots(lasting);
  readonly #stopping = new AbortController();
  readonly #open = new Set<DatabaseConnection>();

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /** A connection for one request, with a limit for the whole request. */
  async ask<Result>(
    scope: TenantScope,
    target: Target,
    asker: AbortSignal | undefined,
    work: (connection: DatabaseConnection, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const release = this.#questions.take(scope);
    try {
      return await this.timed(async (signal) => {
        const connection = await DatabaseConnection.open(this.#parts, target, signal);
        this.#open.add(connection);
        try {
          return await work(connection, signal);
        } finally {
          await connection.close();
          this.#open.delete(connection);
        }
      }, asker);
    } finally {
      release();
    }
  }

  /** A connection that stays open until either side closes it. */
  async keep(scope: TenantScope, target: Target): Promise<DatabaseConnection> {
    const release = this.#lasting.take(scope);
    try {
      const connection = await this.timed((signal) => DatabaseConnection.open(this.#parts, target, signal));
      this.#open.add(connection);
      void connection.closed.then(() => {
        this.#open.delete(connection);
        release();
      });
      return connection;
    } catch (error) {
      release();
      throw error;
    }
  }

  readonly timed: Timed = async (work, asker) => {
    const clock = new AbortController();
    const timer = this.#parts.time.after(limitMs, () =>
      clock.abort(new DatabaseError('timeout', `no whole answer within ${limitMs / 1_000} seconds`)),
    );
    const stop = (): void => clock.abort(new DatabaseError('cancelled', 'nobody waits for it any more'));
    // Separate listeners: AbortSignal.any on a signal that lives as long as the node would leak.
    const ends = [this.#stopping.signal, ...(asker === undefined ? [] : [asker])];
    for (const end of ends) {
      if (end.aborted) stop();
      else end.addEventListener('abort', stop, { once: true });
    }
    try {
      return await work(clock.signal);
    } finally {
      for (const end of ends) end.removeEventListener('abort', stop);
      timer.cancel();
    }
  };

  /** Aborts running work and closes open connections. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#open].map((connection) => connection.close()));
  }
}
