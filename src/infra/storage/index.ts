// The public interface of the store.
export { columnReader, insertTarget, insertText, unnestText } from './batch-target.js';
export type { BatchColumnType } from './array-text.js';
export type { BatchTarget, InsertOutcome, InsertTargetOptions } from './batch-target.js';
export { openBatchWriters } from './batch-writers.js';
export type { BatchWriter, BatchWriterOptions } from './batch-writer.js';
export type { BatchWriters, BatchWritersOptions } from './batch-writers.js';
export {
  BackupError,
  type BackupOptions,
  checkBackup,
  type CheckedBackup,
  type RestoreOptions,
  restoreBackup,
  type TableEntry,
  writeBackup,
} from './backup/index.js';
export { connectTimeoutOf } from './connection.js';
export { openChangeFeed } from './change-feed.js';
export type { ChangeFeed, ChangeFeedOptions, ChangeSubscriber } from './change-feed.js';
export { recordChange, recordChanges } from './changes.js';
export type { Change } from './changes.js';
export {
  EmbeddedPostgresError,
  type EmbeddedPostgres,
  runningEmbeddedPostgres,
  startEmbeddedPostgres,
} from './embedded/index.js';
export { type DatabaseFacts, examineDatabase } from './examine.js';
export { openSharedValues } from './redis/shared-values.js';
export type { Claim, SharedValues, SharedValuesOptions } from './redis/shared-values.js';
export type { CountedWindow, CountingNode, WindowCount, WindowsOfOthers } from './redis/window-counts.js';
export { examineRedis, type RedisFacts } from './redis/examine.js';
export { isUniqueViolation, StoreError } from './errors.js';
export type { StoreFailure } from './errors.js';
export { makeFolder } from './folders.js';
export { openHotReads } from './hot.js';
export type { HotReads, HotReadsOptions, HotStatement, HotValue } from './hot.js';
export { LookUps, type LookUpsOptions } from './look-ups.js';
export { migrate } from './migrate.js';
export type { MigrationOptions, MigrationResult } from './migrate.js';
export { MigrationError } from './migration-error.js';
export { migrationsDirectory } from './migration-files.js';
export { sql } from './query.js';
export { type Removal, removalFrom } from './removal.js';
export { writerRole } from './roles.js';
export { openStore } from './store.js';
export { storeTime } from './store-time.js';
export type { Store, StoreSettings, TransactionOptions } from './store.js';
export type { DirectoryTransaction, TenantTransaction, Transaction } from './transaction.js';
export {
  allPages,
  type FoundPage,
  foundPage,
  listBytesMax,
  pageRows,
  textBytesMax,
  withinTextBytes,
} from './text-pages.js';
export { plainList } from './plain-list.js';
