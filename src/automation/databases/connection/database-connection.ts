import pg from 'pg';
import type { Time } from '../../../../cluster/index.js';
import type { Egress } from '../../../infra/egress/index.js';
import type { SecretValue } from '../../../tenancy/vault/index.js';
import { databaseErrorOf } from './database-error.js';
import { GatedStream } from './gated-stream.js';
import type { Allowance } from './message-gate.js';
import { openSocket, type Place } from './open-socket.js';

/** A database and who signs in there. */
export interface Target extends Place {
  readonly database: string;
  readonly username: string;
  readonly password: SecretValue;
}

/** What a statement may bring. */
export interface Bounds {
  readonly rowsMax: number;
  readonly columnsMax: number;
}

export interface TextRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
}

export interface ConnectionParts {
  readonly egress: Pick<Egress, 'connectGuarded' | 'startTls'>;
  readonly time: Time;
}

/** Everything together: finding the host, connecting, TLS, signing in, statements. */
export const limitMs = 10_000;
/** The server ends a statement a little before nobody listens any more, so that it does not work on for nobody. */
const statementMs = 9_000;
const lockWaitMs = 2_000;
const goodbyeMs = 1_000;
const bytesMax = 4 * 1024 * 1024;
const signInAllowance: Allowance = { bytes: 256 * 1024, rows: 0, fields: 0 };

/**
 * Every statement stands in a transaction that is read-only from its first moment. Settings of the session would do
 * the same, but a pooler in between may hand the session, with its settings, to somebody else.
 */
const beginning = [
  'begin transaction read only',
  `set local statement_timeout = ${statementMs}`,
  `set local lock_timeout = ${lockWaitMs}`,
  `set local idle_in_transaction_session_timeout = ${limitMs}`,
  "set local client_encoding = 'UTF8'",
  // So that values have one spelling, whatever the server's own habits are.
  "set local datestyle = 'ISO'",
  "set local timezone = 'UTC'",
].join('; ');

/** Values as PostgreSQL writes them: nothing is lost on the way, and nothing that comes is interpreted. */
const asText: pg.CustomTypesConfig = { getTypeParser: () => (value: string) => value };

/** A connection to a tenant's database, for reading. Every failure is a `DatabaseError`, or the signal's own reason. */
export class DatabaseConnection {
  readonly #client: pg.Client;
  readonly #stream: GatedStream;
  readonly #target: Target;
  readonly #time: Time;
  readonly #closed: Promise<void>;

  private constructor(time: Time, target: Target, stream: GatedStream) {
    const { host, port, database, username: user, password } = target;
    this.#time = time;
    this.#target = target;
    this.#stream = stream;
    this.#closed = new Promise((resolve) => stream.once('close', resolve));
    // What is left out here is looked for in PG… variables of the environment, which are not the tenant's.
    this.#client = new pg.Client({
      host,
      port,
      database,
      user,
      password: password.reveal(),
      stream: () => stream,
      ssl: false, // spoken below the driver where it is wanted
      sslnegotiation: 'postgres',
      application_name: 'troupe',
      types: asText,
    });
    // A connection that breaks is told of by what was waiting for it, or by `closed`.
    this.#client.on('error', () => undefined);
  }

  static async open(
    { egress, time }: ConnectionParts,
    target: Target,
    signal: AbortSignal,
  ): Promise<DatabaseConnection> {
    let connection: DatabaseConnection | undefined;
    try {
      const socket = await openSocket(egress, target, { timeoutMs: limitMs, signal });
      connection = new DatabaseConnection(time, target, new GatedStream(socket, signInAllowance));
      const client = connection.#client;
      await connection.#until(signal, () => client.connect());
      return connection;
    } catch (error) {
      connection?.destroy();
      if (signal.aborted) throw signal.reason;
      throw databaseErrorOf(error, target.password.reveal());
    }
  }

  /** Settles when the connection is gone, for whatever reason. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  /** Runs the work within one read-only transaction. */
  async reading<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    await this.#send(signal, { text: beginning }, { rowsMax: 0, columnsMax: 0 });
    try {
      return await work();
    } finally {
      // Nothing was written. A connection that cannot be brought back to its beginning is of no more use.
      await this.#send(signal, { text: 'rollback' }, { rowsMax: 0, columnsMax: 0 }).catch(() =>
        this.destroy(),
      );
    }
  }

  /** One statement. Its parameters are `$1`, `$2` …; a null, a text, or an array of texts each. */
  run(
    signal: AbortSignal,
    text: string,
    values: readonly (string | null | readonly string[])[],
    bounds: Bounds,
  ): Promise<TextRows> {
    return this.#send(signal, { text, values: [...values] }, bounds);
  }

  /** Hears what is sent on the channel, until the connection is closed. */
  async listen(signal: AbortSignal, channel: string, heard: (payload: string) => void): Promise<void> {
    this.#client.on('notification', (notification) => {
      if (notification.channel === channel) heard(notification.payload ?? '');
    });
    const text = `listen ${pg.escapeIdentifier(channel)}`;
    await this.#send(signal, { text }, { rowsMax: 0, columnsMax: 0 });
  }

  /** As much may come without having been asked for, until it is said anew. */
  allowUnasked(bytes: number): void {
    this.#stream.allow({ bytes, rows: 0, fields: 0 });
  }

  /** Says goodbye, and does not wait long for the other side to hear it. */
  async close(): Promise<void> {
    const timer = this.#time.after(goodbyeMs, () => this.destroy());
    // It answers once the connection is gone, which `closed` tells as well.
    void this.#client.end().catch(() => this.destroy());
    await this.#closed;
    timer.cancel();
  }

  destroy(): void {
    this.#stream.destroy();
  }

  async #send(
    signal: AbortSignal,
    query: { readonly text: string; readonly values?: unknown[] },
    { rowsMax, columnsMax }: Bounds,
  ): Promise<TextRows> {
    this.#stream.allow({ bytes: bytesMax, rows: rowsMax, fields: rowsMax * columnsMax });
    try {
      const { fields, rows } = await this.#until(signal, () =>
        this.#client.query<(string | null)[]>({ ...query, rowMode: 'array' }),
      );
      return { columns: fields?.map(({ name }) => name) ?? [], rows: rows ?? [] };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw databaseErrorOf(error, this.#target.password.reveal());
    }
  }

  /** The driver has no way to stop; closing the connection is one. */
  async #until<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const stop = (): void => {
      this.#stream.destroy(new Error('stopped'));
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await work();
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}
