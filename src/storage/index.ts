// The store's face.
export { isUniqueViolation, StoreError } from './errors.js';
export type { StoreFailure } from './errors.js';
export { migrate, MigrationError, migrationsDirectory } from './migrate.js';
export type { MigrationResult } from './migrate.js';
export { openStore, sql } from './store.js';
export type { Store, StoreSettings, TransactionOptions } from './store.js';
export type { DirectoryTransaction, TenantTransaction, Transaction } from './transaction.js';
