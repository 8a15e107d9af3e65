// The manifest of a backup: what the files beside it contain. It is written last, so a folder without it is no backup.
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BackupError } from './errors.js';

export const manifestName = 'manifest.json';
/** A change of the files' meaning takes the next number. */
export const formatNumber = 1;
/** Some 50 tables take 20 kB. */
const manifestBytesMax = 4 * 1024 * 1024;

/** Names become parts of file names and statements. */
const plainName = z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/);
const fingerprint = z.string().regex(/^[0-9a-f]{32,64}$/);
const moment = z.string().regex(/^[0-9: .+-]{10,40}$/);

const tableEntry = z.strictObject({
  name: plainName,
  columns: z.array(plainName),
  rows: z.number().int().nonnegative(),
  /** Of the compressed file. */
  bytes: z.number().int().nonnegative(),
  sha256: fingerprint,
});
const partitionEntry = z.strictObject({ name: plainName, parent: plainName, from: moment, to: moment });
const sequenceEntry = z.strictObject({
  table: plainName,
  column: plainName,
  value: z.string().regex(/^\d{1,19}$/),
  is_called: z.boolean(),
});
const migrationEntry = z.strictObject({ number: z.number(), name: z.string(), checksum: z.string() });

const manifestShape = z.strictObject({
  format: z.literal(formatNumber),
  taken_at: z.iso.datetime({ offset: true }),
  migrations: z.array(migrationEntry),
  /** The fingerprints of the master keys without which the backup's secrets cannot be read; the active one first. */
  master_keys: z.array(fingerprint),
  tables: z.array(tableEntry),
  partitions: z.array(partitionEntry),
  sequences: z.array(sequenceEntry),
});

export type Manifest = z.output<typeof manifestShape>;
export type TableEntry = z.output<typeof tableEntry>;
export type PartitionEntry = z.output<typeof partitionEntry>;
export type SequenceEntry = z.output<typeof sequenceEntry>;

/** Rows as PostgreSQL's COPY writes them as text, compressed with gzip. */
export function fileOf(table: string): string {
  return `${table}.copy.gz`;
}

export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const file = await open(join(folder, manifestName), 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(manifest, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, manifestName);
  const value = parsed(path, await textOf(folder, path));
  const format = z.object({ format: z.number() }).safeParse(value);
  if (format.success && format.data.format !== formatNumber) {
    throw new BackupError(
      'other-format',
      `the backup in ${folder} has format ${format.data.format}, and this version of Troupe reads format ` +
        `${formatNumber}. Restore it with the version that made it.`,
    );
  }
  const manifest = manifestShape.safeParse(value);
  if (manifest.success) return manifest.data;
  throw new BackupError('damaged', `${path} is damaged: ${z.prettifyError(manifest.error)}`);
}

async function textOf(folder: string, path: string): Promise<string> {
  let file;
  try {
    file = await open(path);
  } catch (cause) {
    throw new BackupError(
      'damaged',
      `there is no whole backup in ${folder}: ${manifestName} cannot be read. Name the folder that \`troupe backup\` made.`,
      { cause },
    );
  }
  try {
    const { size } = await file.stat();
    if (size > manifestBytesMax)
      throw new BackupError('damaged', `${path} is no manifest of a backup: it has ${size} bytes.`);
    return await readFile(file, 'utf8');
  } finally {
    await file.close();
  }
}

function parsed(path: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new BackupError('damaged', `${path} is damaged: it is no JSON. Use another copy of the backup.`, {
      cause,
    });
  }
}
