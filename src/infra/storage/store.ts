// The store: transactions for one tenant, and for the directory. Roles and policies in PostgreSQL decide what each may
// query; the types here make common mistakes impossible to write.
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { StoreError } from './errors.js';
import { openPool, type Pool, type Session } from './pool.js';
import { applicationRole, directoryRole } from './roles.js';
import { inDirectoryTransaction, inTenantTransaction } from './transaction.js';
import type { DirectoryTransaction, TenantTransaction } from './transaction.js';

export type TransactionOptions = {
  /**
   * How often the whole handler is repeated after conflicts with concurrent transactions. A handler that does more
   * than query (send, count, notify) must set 0, or do the rest after the transaction.
   */
  readonly retriesMax?: number;
  /** All queries see the rows of one moment, and none writes. Otherwise each sees those of its own beginning. */
  readonly ofOneMoment?: boolean;
};

export type Store = {
  /** Runs `handler` in a transaction that sees only the rows of the tenant of `scope`. */
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
  /** The name under which this process claims rows. */
  readonly process?: string | undefined;
  /** Connections for tenants' transactions. One tenant has at most four fifths of them. */
  readonly connectionsMax?: number;
  readonly directoryConnectionsMax?: number;
  readonly statementTimeoutMs?: number;
  /** Maximum of waiters per pool; in the pool of tenants, one tenant may be at most half of them. */
  readonly waitingMax?: number;
};

/** The part of the connections that one tenant may have. */
const ofTenantMax = 0.8;

export async function openStore(settings: StoreSettings): Promise<Store> {
  const {
    databaseUrl,
    process,
    statementTimeoutMs = 10_000,
    waitingMax = 512,
    connectionsMax = 10,
  } = settings;
  const tenants = openPool({
    databaseUrl,
    process,
    statementTimeoutMs,
    role: applicationRole,
    connectionsMax,
    ofShareMax: Math.ceil(connectionsMax * ofTenantMax),
    waitingMax,
  });
  const directory = openPool({
    databaseUrl,
    process,
    statementTimeoutMs,
    role: directoryRole,
    connectionsMax: settings.directoryConnectionsMax ?? 5,
    waitingMax,
  });

  return {
    inTenant: (scope, handler, options) => {
      // Sets the role again, in case a pooler has switched the server connection. The role is an identifier and the
      // tenant id of a scope is always a UUID, so nothing needs quoting.
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

/** A transaction that PostgreSQL rolled back because of a conflict may succeed when repeated. */
const retriesMaxDefault = 3;

async function transact<Result>(
  pool: Pool,
  share: string | undefined,
  entering: string,
  options: TransactionOptions | undefined,
  handler: (session: Session) => Promise<Result>,
): Promise<Result> {
  return pool.use(share, async (session) => {
    const beginning =
      options?.ofOneMoment === true
        ? 'start transaction isolation level repeatable read read only; '
        : 'start transaction; ';
    let retriesLeft = options?.retriesMax ?? retriesMaxDefault;
    for (;;) {
      try {
        return await attempt(session, beginning + entering, handler);
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
  beginning: string,
  handler: (session: Session) => Promise<Result>,
): Promise<Result> {
  // One message, so that role and tenant need no extra round trip.
  await session.query(beginning);
  let result: Result;
  try {
    result = await handler(session);
  } catch (error) {
    // If the rollback fails, the connection is closed: nobody else may find this transaction open.
    if (!session.broken) await session.query('rollback').catch(() => session.discard());
    throw error;
  }
  try {
    await session.query('commit');
  } catch (error) {
    // If the connection is lost during the commit, it is unknown whether the transaction was committed.
    if (!(error instanceof StoreError) || error.failure !== 'unavailable') throw error;
    throw new StoreError('outcome-unknown', 'A transaction: the connection was lost during the commit', {
      cause: error,
    });
  }
  return result;
}
