// What code inside a transaction holds. A tenant's transaction carries its scope, so a function that
// asks for one cannot be called without a tenant.
import type { DatabaseTransactionConnection } from 'slonik';
import type { TenantScope } from '../context/tenant-scope.js';
import { StoreError, toStoreError } from './errors.js';

type Queries = Omit<DatabaseTransactionConnection, 'transaction' | 'stream'>;

/** Sees and writes the rows of one tenant. */
export type TenantTransaction = Queries & {
  readonly scope: TenantScope;
  /**
   * A part that may fail by itself: what it wrote is undone, the transaction goes on. Without it, a
   * transaction in which a query failed cannot commit, also if the failure was caught.
   */
  savepoint<Result>(part: (tx: TenantTransaction) => Promise<Result>): Promise<Result>;
};

/** Sees the directory's tables, of all tenants. */
export type DirectoryTransaction = Queries & {
  readonly directory: true;
  savepoint<Result>(part: (tx: DirectoryTransaction) => Promise<Result>): Promise<Result>;
};

export type Transaction = TenantTransaction | DirectoryTransaction;

export function inTenantTransaction<Result>(
  connection: DatabaseTransactionConnection,
  scope: TenantScope,
  handler: (tx: TenantTransaction) => Promise<Result>,
): Promise<Result> {
  return guarded(connection, (queries) =>
    handler({
      ...queries,
      scope,
      savepoint: (part) => connection.transaction((inner) => inTenantTransaction(inner, scope, part), 0),
    }),
  );
}

export function inDirectoryTransaction<Result>(
  connection: DatabaseTransactionConnection,
  handler: (tx: DirectoryTransaction) => Promise<Result>,
): Promise<Result> {
  return guarded(connection, (queries) =>
    handler({
      ...queries,
      directory: true,
      savepoint: (part) => connection.transaction((inner) => inDirectoryTransaction(inner, part), 0),
    }),
  );
}

/**
 * PostgreSQL answers the commit of a failed transaction with a rollback and no error. A handler that
 * caught the failure and returned would then be told that its writes are durable.
 */
async function guarded<Result>(
  connection: DatabaseTransactionConnection,
  handler: (queries: Queries) => Promise<Result>,
): Promise<Result> {
  let aborted: StoreError | undefined;
  const failed = (error: unknown): never => {
    // Translated here, so that a handler can tell a unique violation from the rest.
    const translated = toStoreError(error, 'A query');
    // A row of another shape is a matter of this side; PostgreSQL has seen nothing wrong.
    if (translated instanceof StoreError && translated.failure !== 'unexpected-row') aborted = translated;
    throw translated;
  };
  const result = await handler({
    any: (query) => connection.any(query).catch(failed),
    anyFirst: (query) => connection.anyFirst(query).catch(failed),
    exists: (query) => connection.exists(query).catch(failed),
    many: (query) => connection.many(query).catch(failed),
    manyFirst: (query) => connection.manyFirst(query).catch(failed),
    maybeOne: (query) => connection.maybeOne(query).catch(failed),
    maybeOneFirst: (query) => connection.maybeOneFirst(query).catch(failed),
    one: (query) => connection.one(query).catch(failed),
    oneFirst: (query) => connection.oneFirst(query).catch(failed),
    query: (query) => connection.query(query).catch(failed),
  });
  if (aborted !== undefined) {
    throw new StoreError(
      'defect',
      'A query failed and the transaction went on; put it into a savepoint, or let its error out',
      { cause: aborted },
    );
  }
  return result;
}
