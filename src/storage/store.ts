// The store: transactions for one tenant, and for the directory. Whoever may query what is decided by
// the roles and policies in PostgreSQL; the types here make the ordinary mistakes impossible to write.
import { SlonikError } from 'slonik';
import type { DatabasePool, DatabaseTransactionConnection } from 'slonik';
import type { TenantScope } from '../context/tenant-scope.js';
import { StoreError, toStoreError } from './errors.js';
import { entrance } from './driver.js';
import { openPool } from './pools.js';
import { applicationRole, directoryRole } from './roles.js';
import { inDirectoryTransaction, inTenantTransaction } from './transaction.js';
import type { DirectoryTransaction, TenantTransaction } from './transaction.js';

export type TransactionOptions = {
  /**
   * How often the whole handler runs anew after it lost against concurrent transactions. A handler that
   * does more than query (send, count, notify) sets 0, or does the rest after the transaction.
   */
  readonly retriesMax?: number;
};

export type Store = {
  /** Runs `handler` in a transaction that sees the rows of `scope`'s tenant alone. */
  inTenant<Result>(
    scope: TenantScope,
    handler: (tx: TenantTransaction) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  /** Runs `handler` in a transaction over the directory: users, tenants, memberships, look-ups by hash. */
  directory<Result>(
    handler: (tx: DirectoryTransaction) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  /** Waits for running transactions and closes all connections. */
  close(): Promise<void>;
};

export type StoreSettings = {
  readonly databaseUrl: string;
  /** Connections for tenants' transactions. */
  readonly connectionsMax?: number;
  readonly directoryConnectionsMax?: number;
  readonly statementTimeoutMs?: number;
  /** As many may wait for a connection; the next is refused, since waiting longer helps nobody. */
  readonly waitingMax?: number;
};

export async function openStore(settings: StoreSettings): Promise<Store> {
  const { databaseUrl, statementTimeoutMs = 10_000, waitingMax = 256 } = settings;
  const [tenants, directory] = await Promise.all([
    openPool({
      databaseUrl,
      statementTimeoutMs,
      role: applicationRole,
      connectionsMax: settings.connectionsMax ?? 10,
    }),
    openPool({
      databaseUrl,
      statementTimeoutMs,
      role: directoryRole,
      connectionsMax: settings.directoryConnectionsMax ?? 5,
    }),
  ]).catch((error: unknown) => {
    throw toStoreError(error, 'Opening the store');
  });

  return {
    inTenant: (scope, handler, options) => {
      // The role once more, for the case that a pooler in between gave us another server connection. An
      // identifier and a UUID, which a scope is sure to hold: nothing here needs quoting.
      const entering = `set local role ${applicationRole}; set local troupe.tenant_id = '${scope.tenantId}'`;
      return transact(tenants, entering, waitingMax, options, (connection) =>
        inTenantTransaction(connection, scope, handler),
      );
    },
    directory: (handler, options) =>
      transact(directory, `set local role ${directoryRole}`, waitingMax, options, (connection) =>
        inDirectoryTransaction(connection, handler),
      ),
    close: async () => {
      await Promise.all([tenants.end(), directory.end()]);
    },
  };
}

async function transact<Result>(
  pool: DatabasePool,
  entering: string,
  waitingMax: number,
  options: TransactionOptions | undefined,
  handler: (connection: DatabaseTransactionConnection) => Promise<Result>,
): Promise<Result> {
  if (pool.state().waitingClients >= waitingMax) {
    throw new StoreError('overloaded', `Opening a transaction: ${waitingMax} others wait for a connection`);
  }
  // What the handler threw for reasons of its own is not the store's to judge.
  let own: { error: unknown } | undefined;
  let returned = false;
  try {
    const attempt = async (connection: DatabaseTransactionConnection): Promise<Result> => {
      own = undefined;
      returned = false;
      try {
        const result = await handler(connection);
        returned = true;
        return result;
      } catch (error) {
        if (!(error instanceof SlonikError)) own = { error };
        throw error;
      }
    };
    return await entrance.run(entering, () => pool.transaction(attempt, options?.retriesMax));
  } catch (error) {
    if (own?.error === error) throw error;
    const translated = toStoreError(error, 'A transaction');
    // Nobody knows whether a commit that was sent has been done when its answer was lost.
    if (returned && translated instanceof StoreError && translated.failure === 'unavailable') {
      throw new StoreError('outcome-unknown', 'A transaction: the connection was lost at its commit', {
        cause: translated,
      });
    }
    throw translated;
  }
}
