// The database roles of connections, created by the first migration. None of them owns a table.

/** Limited to the tenant that the transaction sets. */
export const applicationRole = 'troupe_app';
/** For look-ups before a tenant is known; limited to tables whose policies name it. */
export const directoryRole = 'troupe_directory';
/** For batches with rows of many tenants; limited to tables whose policies name it. */
export const writerRole = 'troupe_writer';
/** Reads all rows, for a backup only. The store opens no connection with it. */
export const backupRole = 'troupe_backup';

export type StoreRole = typeof applicationRole | typeof directoryRole | typeof writerRole;
