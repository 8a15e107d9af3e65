import { z } from 'zod';

/**
 * Ids as a request gives them, in the one form in which this platform writes them. PostgreSQL compares ids in either
 * case, but actors, caches and audit entries are found by the text: in another case it would be another session.
 */
export const givenUuid = z.uuid().toLowerCase();

/** The same for ids of any version. */
export const givenGuid = z.guid().toLowerCase();
