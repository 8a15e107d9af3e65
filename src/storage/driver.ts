// slonik's driver, on the same settings of pg as the connections that go past slonik.
//
// slonik's own driver is not used because of one race: when a connection is lost under a running
// statement, pg first tells the connection's listeners and then the statement. slonik's pool then waits
// for the statement, takes its failure for its own and keeps the dead connection among its members for
// good. A few lost connections and the pool is full of them, and the store never comes back. Here the
// listeners are told after the statement. (It also reads TLS settings otherwise than pg does, and opens
// one more connection at start to look up types.)
import pg from 'pg';
import { BackendTerminatedError, createDriverFactory } from 'slonik';
import type { DriverCommand, DriverFactory, DriverQueryResult } from 'slonik';
import { assertRole, clientConfig } from './connection.js';
import type { ConnectionSettings } from './connection.js';
import { StoreError, toStoreError } from './errors.js';

const commands: readonly DriverCommand[] = ['COPY', 'DELETE', 'INSERT', 'SELECT', 'UPDATE'];

export function driverFactory(settings: ConnectionSettings): DriverFactory {
  return createDriverFactory(async () => ({
    createPoolClient: async ({ clientEventEmitter }) => {
      const client = new pg.Client(clientConfig(settings));
      client.on('error', (error) => {
        setImmediate(() => {
          // Nobody listens any more when the statement's failure has already ended the connection.
          if (clientEventEmitter.listenerCount('error') > 0) clientEventEmitter.emit('error', error);
        });
      });
      return {
        connect: async () => {
          try {
            await client.connect();
            assertRole((await client.query('select current_user')).rows, settings.role);
          } catch (error) {
            await client.end();
            throw error;
          }
        },
        end: () => client.end(),
        query: (text, values) => send(client, text, values),
        stream: () => {
          throw new StoreError('defect', 'Rows are not streamed: read them in pages');
        },
      };
    },
  }));
}

async function send(
  client: pg.Client,
  text: string,
  values: unknown[] | undefined,
): Promise<DriverQueryResult> {
  let result: pg.QueryResult<Record<string, unknown>>;
  try {
    result = await client.query<Record<string, unknown>>(text, values);
  } catch (error) {
    const translated = toStoreError(error, 'A statement');
    // So that slonik does not send a rollback after it.
    if (translated instanceof StoreError && translated.failure === 'unavailable' && error instanceof Error) {
      throw new BackendTerminatedError(error);
    }
    throw error;
  }
  if (Array.isArray(result)) throw new StoreError('defect', 'A query is one statement');
  return {
    command: commands.find((command) => command === result.command) ?? 'SELECT',
    fields: result.fields.map(({ dataTypeID, name }) => ({ dataTypeId: dataTypeID, name })),
    rowCount: result.rowCount,
    rows: result.rows,
  };
}
