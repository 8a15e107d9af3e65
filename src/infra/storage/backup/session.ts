// A connection as the owner of the tables, without the time limits of a node's connections: a table may take hours.
import { Socket } from 'node:net';
import pg from 'pg';
import type { QueryResultRow, Submittable } from 'pg';
import { toStoreError } from '../errors.js';

const connectMsMax = 10_000;

export class OwnerSession {
  readonly #client: pg.Client;
  readonly #socket: Socket;

  private constructor(client: pg.Client, socket: Socket) {
    this.#client = client;
    this.#socket = socket;
  }

  static async open(databaseUrl: string, name: string): Promise<OwnerSession> {
    const socket = new Socket();
    const client = new pg.Client({
      connectionString: databaseUrl,
      application_name: name,
      connectionTimeoutMillis: connectMsMax,
      keepAlive: true,
      stream: () => socket,
    });
    // The next statement reports a connection that broke while idle.
    client.on('error', () => undefined);
    const session = new OwnerSession(client, socket);
    try {
      await client.connect();
      await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0');
    } catch (error) {
      session.drop();
      throw toStoreError(error, 'Connecting to the database');
    }
    return session;
  }

  /** For this folder's own statements and functions that take a client. */
  get client(): pg.Client {
    return this.#client;
  }

  async rows<Row extends QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#client.query<Row>(text, [...values])).rows;
  }

  async run(text: string): Promise<void> {
    await this.#client.query(text);
  }

  stream<Stream extends Submittable>(stream: Stream): Stream {
    return this.#client.query(stream);
  }

  async end(): Promise<void> {
    await this.#client.end();
  }

  /** Ends the connection in the middle of a copy; the server rolls back. */
  drop(): void {
    this.#socket.destroy();
  }
}

/** Runs the work in one transaction. After a failure the connection is dropped: a copy may be under way in it. */
export async function inTransaction<Result>(
  databaseUrl: string,
  { name, begin }: { readonly name: string; readonly begin: string },
  work: (session: OwnerSession) => Promise<Result>,
): Promise<Result> {
  const session = await OwnerSession.open(databaseUrl, name);
  try {
    await session.run(begin);
    const result = await work(session);
    await session.run('commit');
    await session.end();
    return result;
  } catch (error) {
    session.drop();
    throw error;
  }
}
