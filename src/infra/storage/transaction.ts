// The transaction object of a handler. A tenant's transaction carries its scope, so a function that requires one cannot
// be called without a tenant.
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { StoreError } from './errors.js';
import { type Queries, queriesOn, type Statements } from './queries.js';

/** Reads and writes the rows of one tenant. */
export type TenantTransaction = Queries & {
  readonly scope: TenantScope;
  /**
   * Runs a part that may fail by itself: its writes are rolled back and the transaction continues. Otherwise a
   * transaction with a failed query cannot commit, even if the failure was caught.
   */
  savepoint<Result>(part: (tx: TenantTransaction) => Promise<Result>): Promise<Result>;
};

/** Reads and writes the directory tables, for all tenants. */
export type DirectoryTransaction = Queries & {
  readonly directory: true;
  savepoint<Result>(part: (tx: DirectoryTransaction) => Promise<Result>): Promise<Result>;
};

export type Transaction = TenantTransaction | DirectoryTransaction;

export function inTenantTransaction<Result>(
  connection: Statements,
  scope: TenantScope,
  handler: (tx: TenantTransaction) => Promise<Result>,
): Promise<Result> {
  return guarded(connection, (queries) =>
    handler({
      ...queries,
      scope,
      savepoint: (part) => saved(connection, () => inTenantTransaction(connection, scope, part)),
    }),
  );
}

export function inDirectoryTransaction<Result>(
  connection: Statements,
  handler: (tx: DirectoryTransaction) => Promise<Result>,
): Promise<Result> {
  return guarded(connection, (queries) =>
    handler({
      ...queries,
      directory: true,
      savepoint: (part) => saved(connection, () => inDirectoryTransaction(connection, part)),
    }),
  );
}

/** A savepoint hides an outer one of the same name until it is released, so one name works at any depth. */
async function saved<Result>(connection: Statements, part: () => Promise<Result>): Promise<Result> {
  await connection.query('savepoint part');
  try {
    const result = await part();
    await connection.query('release savepoint part');
    return result;
  } catch (error) {
    await connection.query('rollback to savepoint part; release savepoint part');
    throw error;
  }
}

/**
 * PostgreSQL answers the commit of a failed transaction with a rollback and no error. A handler that caught the failure
 * and returned would wrongly be told that its writes are durable.
 */
async function guarded<Result>(
  connection: Statements,
  handler: (queries: Queries) => Promise<Result>,
): Promise<Result> {
  let aborted: StoreError | undefined;
  const failed = (error: unknown): never => {
    if (error instanceof StoreError) aborted = error;
    throw error;
  };
  const result = await handler(queriesOn(connection, failed));
  if (aborted !== undefined) {
    throw new StoreError(
      'defect',
      'A query failed and the transaction continued; use a savepoint for the query, or do not catch its error',
      { cause: aborted },
    );
  }
  return result;
}
