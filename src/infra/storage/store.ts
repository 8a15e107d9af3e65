// The store: transactions for one tenant, and for the directory. Whoever may query what is decided by
// the roles and policies in PostgreSQL; the types here make the ordinary mistakes impossible to write.
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { StoreError } from './errors.js';
import { openPool, type Pool, type Session } from './pool.js';
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
  /** Who waits for a connection of either kind; of tenants' transactions, one tenant's are no more than half. */
  readonly waitingMax?: number;
};

export async function openStore(settings: StoreSettings): Promise<Store> {
  const { databaseUrl, statementTimeoutMs = 10_000, waitingMax = 512 } = settings;
  const tenants = openPool({
    databaseUrl,
    statementTimeoutMs,
    role: applicationRole,
    connectionsMax: settings.connectionsMax ?? 10,
    waitingMax,
  });
  const directory = openPool({
    databaseUrl,
    statementTimeoutMs,
    role: directoryRole,
    connectionsMax: settings.directoryConnectionsMax ?? 5,
    waitingMax,
  });

  return {
    inTenant: (scope, handler, options) => {
      // The role once more, for the case that a pooler in between gave us another server connection. An
      // identifier and a UUID, which a scope is sure to hold: nothing here needs quoting.
      const entering = `set local role ${applicationRole}; set local troupe.tenant_id = '${scope.tenantId}'`;
      return transact(tenants, scope.tenantId, entering, options, (connection) =>
        inTenantTransaction(connection, scope, handler),
      );
    },
    directory: (handler, options) =>
      transact(directory, undefined, `set local role ${directoryRole}`, options, (connection) =>
        inDirectoryTransaction(connection, handler),
      ),
    close: async () => {
      await Promise.all([tenants.end(), directory.end()]);
    },
  };
}

/** PostgreSQL undid the transaction because of others, so the same one may succeed now. */
const retriesMaxDefault = 3;

async function transact<Result>(
  pool: Pool,
  share: string | undefined,
  entering: string,
  options: TransactionOptions | undefined,
  handler: (session: Session) => Promise<Result>,
): Promise<Result> {
  return pool.use(share, async (session) => {
    let retriesLeft = options?.retriesMax ?? retriesMaxDefault;
    for (;;) {
      try {
        return await attempt(session, entering, handler);
      } catch (error) {
        const lost = error instanceof StoreError && error.failure === 'conflict';
        if (!lost || retriesLeft === 0) throw error;
        retriesLeft -= 1;
      }
    }
  });
}

async function attempt<Result>(
  session: Session,
  entering: string,
  handler: (session: Session) => Promise<Result>,
): Promise<Result> {
  // In one message, so that the role and the tenant cost no round trip of their own.
  await session.query(`start transaction; ${entering}`);
  let result: Result;
  try {
    result = await handler(session);
  } catch (error) {
    // What cannot be undone by word is undone by closing the connection: nobody else may find this transaction open.
    if (!session.broken) await session.query('rollback').catch(() => session.discard());
    throw error;
  }
  try {
    await session.query('commit');
  } catch (error) {
    // Nobody knows whether a commit that was sent has been done when its answer was lost.
    if (!(error instanceof StoreError) || error.failure !== 'unavailable') throw error;
    throw new StoreError('outcome-unknown', 'A transaction: the connection was lost at its commit', {
      cause: error,
    });
  }
  return result;
}
