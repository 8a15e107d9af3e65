import pg from 'pg';
import type { Time } from '../../../../cluster/index.js';
import type { Egress } from '../../../infra/egress/index.js';
import type { SecretValue } from '../../../tenancy/vault/index.js';
import { databaseErrorOf } from './database-error.js';
import { FilteredStream } from './filtered-stream.js';
import type { Allowance } from './message-filter.js';
import { openSocket, type Place } from './open-socket.js';

/** A database and its user. */
export interface Target extends Place {
  readonly database: string;
  readonly username: string;
  readonly password: SecretValue;
}

/** The limits of one statement's result. */
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

/** The total time: name lookup, connecting, TLS, sign-in and statements. */
export const limitMs = 10_000;
/** The server cancels a statement shortly before the client stops listening, so that it does not run for nothing. */
const statementMs = 9_000;
const lockWaitMs = 2_000;
const goodbyeMs = 1_000;
/** How long a connection is silent before TCP asks the other end; NAT and firewalls mostly forget one after minutes. */
const probeAfterMs = 30_000;
const bytesMax = 4 * 1024 * 1024;
const signInAllowance: Allowance = { bytes: 256 * 1024, rows: 0, fields: 0 };

/**
 * Every statement runs in a transaction that is read-only from its start. Session settings are not enough: a pooler may
 * hand the session, with its settings, to another client.
 */
const beginning = [
  'begin transaction read only',
  `set local statement_timeout = ${statementMs}`,
  `set local lock_timeout = ${lockWaitMs}`,
  `set local idle_in_transaction_session_timeout = ${limitMs}`,
  "set local client_encoding = 'UTF8'",
  // Fixed settings give values one spelling, whatever the server's defaults are.
  "set local datestyle = 'ISO'",
  "set local timezone = 'UTC'",
].join('; ');

/** Values stay PostgreSQL's text output: nothing is lost, and nothing is parsed. */
const asText: pg.CustomTypesConfig = { getTypeParser: () => (value: string) => value };

/** A read connection to a tenant's database. Every failure is a `DatabaseError`, or the signal's own reason. */
export class DatabaseConnection {
  readonly #client: pg.Client;
  readonly #stream: FilteredStream;
  readonly #target: Target;
  readonly #time: Time;
  readonly #closed: Promise<void>;

  private constructor(time: Time, target: Target, stream: FilteredStream) {
    const { host, port, database, username: user, password } = target;
    this.#time = time;
    this.#target = target;
    this.#stream = stream;
    this.#closed = new Promise((resolve) => stream.once('close', resolve));
    // Options omitted here would be read from PG… environment variables, which are not the tenant's.
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
      keepAlive: true,
      keepAliveInitialDelayMillis: probeAfterMs,
      types: asText,
    });
    // A broken connection is reported by the pending statement or by `closed`.
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
      connection = new DatabaseConnection(time, target, new FilteredStream(socket, signInAllowance));
      const client = connection.#client;
      await connection.#until(signal, () => client.connect());
      return connection;
    } catch (error) {
      connection?.destroy();
      if (signal.aborted) throw signal.reason;
      throw databaseErrorOf(error, target.password.reveal());
    }
  }

  /** Settles when the connection has ended for any reason. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  /** Runs the work within one read-only transaction. */
  async reading<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    await this.#send(signal, { text: beginning }, { rowsMax: 0, columnsMax: 0 });
    try {
      return await work();
    } finally {
      // Nothing was written. A connection that cannot be rolled back is unusable.
      await this.#send(signal, { text: 'rollback' }, { rowsMax: 0, columnsMax: 0 }).catch(() =>
        this.destroy(),
      );
    }
  }

  /** Runs one statement. Its parameters `$1`, `$2` … are each null, a text, or an array of texts. */
  run(
    signal: AbortSignal,
    text: string,
    values: readonly (string | null | readonly string[])[],
    bounds: Bounds,
  ): Promise<TextRows> {
    return this.#send(signal, { text, values: [...values] }, bounds);
  }

  /** Listens to the channel until the connection is closed. */
  async listen(signal: AbortSignal, channel: string, heard: (payload: string) => void): Promise<void> {
    this.#client.on('notification', (notification) => {
      if (notification.channel === channel) heard(notification.payload ?? '');
    });
    const text = `listen ${pg.escapeIdentifier(channel)}`;
    await this.#send(signal, { text }, { rowsMax: 0, columnsMax: 0 });
  }

  /** Sets how many unsolicited bytes may arrive, until the next call. */
  allowUnasked(bytes: number): void {
    this.#stream.allow({ bytes, rows: 0, fields: 0 });
  }

  /** Closes the connection without waiting long for the server. */
  async close(): Promise<void> {
    const timer = this.#time.after(goodbyeMs, () => this.destroy());
    // It resolves once the connection is gone; `closed` reports that as well.
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

  /** The driver cannot cancel; closing the connection is the only way. */
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
