// The database roles that connections enter, made by the first migration. None of them owns a table.

/** Bound to the tenant that the transaction names. */
export const applicationRole = 'troupe_app';
/** For look-ups before a tenant is known; sees only the tables that its policies name. */
export const directoryRole = 'troupe_directory';
/** For batches that hold rows of many tenants; sees only the tables that its policies name. */
export const writerRole = 'troupe_writer';

export type StoreRole = typeof applicationRole | typeof directoryRole | typeof writerRole;
