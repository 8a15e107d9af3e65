// What code inside a transaction holds. A tenant's transaction carries its scope, so a function that
// asks for one cannot be called without a tenant.
import type { DatabaseTransactionConnection } from 'slonik';
import type { TenantScope } from '../context/tenant-scope.js';

type Queries = Omit<DatabaseTransactionConnection, 'transaction' | 'stream'>;

/** Sees and writes the rows of one tenant. */
export type TenantTransaction = Queries & {
  readonly scope: TenantScope;
  /** A part that may fail by itself: what it wrote is undone, the transaction goes on. */
  savepoint<Result>(part: (tx: TenantTransaction) => Promise<Result>): Promise<Result>;
};

/** Sees the directory's tables, of all tenants. */
export type DirectoryTransaction = Queries & {
  readonly directory: true;
  savepoint<Result>(part: (tx: DirectoryTransaction) => Promise<Result>): Promise<Result>;
};

export type Transaction = TenantTransaction | DirectoryTransaction;

export function tenantTransaction(
  connection: DatabaseTransactionConnection,
  scope: TenantScope,
): TenantTransaction {
  return {
    ...queries(connection),
    scope,
    savepoint: (part) => connection.transaction((inner) => part(tenantTransaction(inner, scope))),
  };
}

export function directoryTransaction(connection: DatabaseTransactionConnection): DirectoryTransaction {
  return {
    ...queries(connection),
    directory: true,
    savepoint: (part) => connection.transaction((inner) => part(directoryTransaction(inner))),
  };
}

function queries(connection: DatabaseTransactionConnection): Queries {
  const { any, anyFirst, exists, many, manyFirst, maybeOne, maybeOneFirst, one, oneFirst, query } =
    connection;
  return { any, anyFirst, exists, many, manyFirst, maybeOne, maybeOneFirst, one, oneFirst, query };
}
