// slonik's driver, on the same settings of pg as the connections that go past slonik.
//
// slonik's own driver is not used because of one race: when a connection is lost under a running
// statement, pg first tells the connection's listeners and then the statement. slonik's pool then waits
// for the statement, takes its failure for its own and keeps the dead connection among its members for
// good. A few lost connections and the pool is full of them, and the store never comes back. Here the
// listeners are told after the statement. (It also reads TLS settings otherwise than pg does, and opens
// one more connection at start to look up types.)
import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import { BackendTerminatedError, createDriverFactory } from 'slonik';
import type { DriverCommand, DriverFactory, DriverQueryResult } from 'slonik';
import { assertRole, clientConfig } from './connection.js';
import type { ConnectionSettings } from './connection.js';
import { StoreError, toStoreError } from './errors.js';

/**
 * Statements that go to PostgreSQL together with the start of the transactions begun within, so that the
 * role and the tenant cost no round trip of their own.
 */
export const entrance = new AsyncLocalStorage<string>();

const transactionStart = 'START TRANSACTION';

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
        query: (text, values) => {
          const entering = text === transactionStart ? entrance.getStore() : undefined;
          return entering === undefined ? send(client, text, values) : begin(client, entering);
        },
        stream: () => {
          throw new StoreError('defect', 'Rows are not streamed: read them in pages');
        },
      };
    },
  }));
}

async function begin(client: pg.Client, entering: string): Promise<DriverQueryResult> {
  await client.query(`${transactionStart}; ${entering}`).catch(explainLoss);
  return { command: 'SELECT', fields: [], rowCount: null, rows: [] };
}

async function send(
  client: pg.Client,
  text: string,
  values: unknown[] | undefined,
): Promise<DriverQueryResult> {
  const result = await client.query<Record<string, unknown>>(text, values).catch(explainLoss);
  if (Array.isArray(result)) throw new StoreError('defect', 'A query is one statement');
  return {
    command: commands.find((command) => command === result.command) ?? 'SELECT',
    fields: result.fields.map(({ dataTypeID, name }) => ({ dataTypeId: dataTypeID, name })),
    rowCount: result.rowCount,
    rows: result.rows,
  };
}

/** So that slonik does not send a rollback after it. */
function explainLoss(error: unknown): never {
  const translated = toStoreError(error, 'A statement');
  if (translated instanceof StoreError && translated.failure === 'unavailable' && error instanceof Error) {
    throw new BackendTerminatedError(error);
  }
  throw error;
}
