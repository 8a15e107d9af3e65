export { BackupError, type BackupFailure } from './errors.js';
export type { Manifest, TableEntry } from './manifest.js';
export { checkBackup, restoreBackup, type CheckedBackup, type RestoreOptions } from './restore-backup.js';
export { writeBackup, type BackupOptions } from './write-backup.js';
