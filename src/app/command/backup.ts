import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BackupError, type TableEntry, writeBackup } from '../../infra/storage/index.js';
import { readSettings, type Settings } from '../../kernel/config/index.js';
import { fingerprintOf, neededMasterKeys } from '../../tenancy/vault/index.js';
import { type Command, CommandError, readArguments, usageError } from './command.js';
import { usageOf } from './help.js';
import { databaseFolderOf, openDatabase, storedMasterKey } from './installation.js';
import { operatorHelp } from './operator-help.js';
import { requireDatabase } from './services.js';

const usage = usageOf(operatorHelp.backup);

/**
 * What belongs to this installation's processes and not to its data. Restored nodes form a cluster of their own, which the
 * processes of the former installation cannot join; its numbers begin anew with its name.
 */
const ofThisCluster = ['cluster_identity', 'cluster_views', 'cluster_generations'];

export const backupCommand: Command = {
  run: async (rest, environment) => {
    const folder = folderOf(rest, 'to', usage);
    const settings = readSettings(environment);
    await requireInstallation(settings);
    const known = await knownMasterKeys(settings);
    const { databaseUrl, close } = await openDatabase(settings);
    try {
      const manifest = await writeBackup({
        databaseUrl,
        folder,
        leftOut: ofThisCluster,
        masterKeys: neededMasterKeys,
        accept: (needed) => {
          // A machine that makes backups need not have the key.
          if (known.length > 0) refuseMissingKeys(needed, known, 'the database');
        },
        onTable: showProgress,
      });
      const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
      const bytes = manifest.tables.reduce((sum, table) => sum + table.bytes, 0);
      process.stdout.write(
        `The backup is in ${folder}: ${rows} rows of ${manifest.tables.length} tables, ${bytes} bytes.\n` +
          manifest.master_keys.map((id) => `It needs the master key with the fingerprint ${id}.\n`).join('') +
          'The key is not in the backup: keep it in another place.\n',
      );
    } catch (error) {
      throw asCommandError(error);
    } finally {
      await close();
    }
  },
};

async function requireInstallation({ databaseUrl, dataDir }: Settings): Promise<void> {
  if (databaseUrl !== undefined) return requireDatabase(databaseUrl);
  if (existsSync(join(databaseFolderOf(dataDir), 'data'))) return;
  throw new CommandError(
    `there is no database in the data folder ${resolve(dataDir)}. Set DATABASE_URL or TROUPE_DATA_DIR to the installation.`,
  );
}

export function folderOf(rest: readonly string[], option: string, commandUsage: string): string {
  const { values, positionals } = readArguments(rest, { [option]: undefined }, commandUsage);
  const folder = values[option];
  if (positionals.length > 0) throw usageError(`${positionals.join(' ')} is not expected`, commandUsage);
  if (folder === undefined || folder === '') throw usageError(`--${option} is missing`, commandUsage);
  return resolve(folder);
}

/** The keys of the settings, and that of a single node's data folder. */
export async function knownMasterKeys(settings: Settings): Promise<readonly Uint8Array[]> {
  const { masterKey, previousMasterKeys, databaseUrl, dataDir } = settings;
  const wanted =
    masterKey ?? (databaseUrl === undefined ? await storedMasterKey(resolve(dataDir)) : undefined);
  return wanted === undefined ? previousMasterKeys : [wanted, ...previousMasterKeys];
}

export function refuseMissingKeys(
  needed: readonly string[],
  known: readonly Uint8Array[],
  what: string,
): void {
  const ids = known.map(fingerprintOf);
  const missing = needed.find((id) => !ids.includes(id));
  if (missing === undefined) return;
  const given = ids.length === 0 ? 'none is given' : `the given one has the fingerprint ${ids.join(', ')}`;
  throw new CommandError(
    `${what} needs the master key with the fingerprint ${missing}, and ${given}. Set it as TROUPE_MASTER_KEY or ` +
      'TROUPE_MASTER_KEY_FILE; a key of an unfinished rotation belongs into TROUPE_MASTER_KEYS_PREVIOUS.',
  );
}

export function showProgress({ name, rows, bytes }: TableEntry): void {
  process.stderr.write(`${name}: ${rows === 1 ? '1 row' : `${rows} rows`}, ${bytes} bytes\n`);
}

/** Says what is wrong without the name of the failure. */
export function asCommandError(error: unknown): unknown {
  return error instanceof BackupError ? new CommandError(error.message, { cause: error }) : error;
}
