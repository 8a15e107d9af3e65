import { resolve } from 'node:path';
import {
  checkBackup,
  makeFolder,
  restoreBackup,
  runningEmbeddedPostgres,
} from '../../infra/storage/index.js';
import { readSettings, type Settings } from '../../kernel/config/index.js';
import { neededMasterKeys } from '../../tenancy/vault/index.js';
import { asCommandError, folderOf, knownMasterKeys, refuseMissingKeys, showProgress } from './backup.js';
import { type Command, CommandError } from './command.js';
import { usageOf } from './help.js';
import { databaseFolderOf, openDatabase, storedMasterKey, storeMasterKey } from './installation.js';
import { operatorHelp } from './operator-help.js';
import { requireDatabase } from './services.js';

const usage = usageOf(operatorHelp.restore);

export const restoreCommand: Command = {
  run: async (rest, environment) => {
    const folder = folderOf(rest, 'from', usage);
    const settings = readSettings(environment);
    const known = await knownMasterKeys(settings);
    const accept = (needed: readonly string[]): void => refuseMissingKeys(needed, known, 'the backup');
    try {
      const backup = await checkBackup(folder, accept);
      await requireStopped(settings);
      await keepMasterKey(settings);
      const { databaseUrl, close } = await openDatabase(settings);
      try {
        await restoreBackup({
          databaseUrl,
          backup,
          filledByMigrations: ['change_counter'],
          masterKeys: neededMasterKeys,
          accept,
          onTable: showProgress,
        });
      } finally {
        await close();
      }
      process.stdout.write(`The backup of ${backup.manifest.taken_at} is restored. The nodes may start.\n`);
    } catch (error) {
      throw asCommandError(error);
    }
  },
};

async function requireStopped({ databaseUrl, dataDir }: Settings): Promise<void> {
  if (databaseUrl !== undefined) return requireDatabase(databaseUrl);
  if ((await runningEmbeddedPostgres(databaseFolderOf(dataDir))) === undefined) return;
  throw new CommandError(
    `a node runs on the data folder ${resolve(dataDir)}. Stop it, or set TROUPE_DATA_DIR.`,
  );
}

/**
 * A single node reads its key from the data folder. The key is stored before the rows: a node that found rows without it
 * would create another one.
 */
async function keepMasterKey({ databaseUrl, dataDir, masterKey }: Settings): Promise<void> {
  if (databaseUrl !== undefined || masterKey === undefined) return;
  const folder = resolve(dataDir);
  await makeFolder(folder);
  const stored = await storedMasterKey(folder);
  if (stored === undefined) return storeMasterKey(folder, masterKey);
  if (Buffer.from(masterKey).equals(stored)) return;
  throw new CommandError(
    `the data folder ${folder} has another master key (master.key) than TROUPE_MASTER_KEY. Restore into an empty ` +
      'folder, or move that file away.',
  );
}
