// What each release froze of migrations/: `released.json`, which `scripts/release.mjs` writes.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MigrationError } from './migration-error.js';

const releases = z.array(
  z.object({
    version: z.string(),
    /** The version of the messages between nodes that the release speaks. */
    protocol: z.int(),
    /** Checksums of the numbered files that the release added. */
    numbered: z.record(z.string(), z.string()),
    /** The head of each function, which nodes of the release call, and the checksum of its text. */
    functions: z.record(z.string(), z.object({ head: z.string(), checksum: z.string() })),
  }),
);

/** Oldest first. */
export type Releases = z.output<typeof releases>;

export async function readReleases(directory: string): Promise<Releases> {
  try {
    return releases.parse(JSON.parse(await readFile(join(directory, 'released.json'), 'utf8')));
  } catch (error) {
    // Before a first release nothing is frozen.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw new MigrationError('bad-file', 'released.json cannot be read', { cause: error });
  }
}

/**
 * The schema version (highest number) that a node must know to work with a database that has this file: that of the
 * last release before the file. A release keeps working with the schema of the next one, and not of later ones.
 */
export function servesFrom(name: string, known: Releases): number {
  const since = known.findIndex(({ numbered }) => name in numbered);
  const before = since === -1 ? known : known.slice(0, since);
  return before
    .flatMap(({ numbered }) => Object.keys(numbered))
    .reduce((highest, one) => Math.max(highest, numberOf(one)), 0);
}

function numberOf(name: string): number {
  return Number(name.slice(0, 4));
}
