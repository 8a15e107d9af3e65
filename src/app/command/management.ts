import { join, resolve } from 'node:path';
import { systemPlatform } from '../../infra/platform/index.js';
import { type Environment, readSettings, type Settings } from '../../kernel/config/index.js';
import { createIdentity, type Identity } from '../../tenancy/identity/index.js';
import {
  cancelAllInvites,
  createInvites,
  hasPendingInvite,
  type Invites,
} from '../../tenancy/invites/index.js';
import { KeyAdministration, revokeAllKeys, revokeKeysOf, roleNow } from '../../tenancy/keys/index.js';
import { createMail, type Mail } from '../../infra/mail/index.js';
import { createSealer, type Sealer } from '../../infra/sealing/index.js';
import { createVault, type Vault } from '../../tenancy/vault/index.js';
import {
  type ChangeFeed,
  examineDatabase,
  migrate,
  openChangeFeed,
  openStore,
  type Store,
} from '../../infra/storage/index.js';
import { CommandError } from './command.js';
import { masterKeyOf, openDatabase } from './installation.js';

/** The services that operator commands use, with or without running nodes. */
export interface Management {
  readonly settings: Settings;
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly identity: Identity;
  readonly invites: Pick<Invites, 'createByOperator'>;
  readonly keys: KeyAdministration;
  /** Only queues and seals; nodes send the mails. */
  readonly mail: Mail;
  readonly vault: Vault;
  readonly sealer: Sealer;
}

export interface ManagementOptions {
  /** Leaves the schema as it is: who looks around with a new version may not have made the backup of the upgrade yet. */
  readonly onlyReads?: boolean;
}

/**
 * Opens the installation: DATABASE_URL if it is set, otherwise the database in the data folder, which is started for
 * the duration of the command if no node runs it.
 */
export async function withManagement<Result>(
  environment: Environment,
  work: (management: Management) => Promise<Result>,
  { onlyReads = false }: ManagementOptions = {},
): Promise<Result> {
  const first = readSettings(environment);
  const { databaseUrl, close: closeDatabase } = await openDatabase(first);
  const closing: (() => Promise<void>)[] = [closeDatabase];
  try {
    if (onlyReads) await requireSchema(databaseUrl);
    else await migrate({ databaseUrl, acceptNewer: true });
    const settings = first.masterKey === undefined ? await withStoredKey(environment, first) : first;
    const store = await openStore({ databaseUrl });
    closing.push(() => store.close());
    const onProblem = (error: unknown): void => {
      process.stderr.write(`troupe: ${error instanceof Error ? error.message : String(error)}\n`);
    };
    const { time, random } = systemPlatform;
    const changes = await openChangeFeed({ databaseUrl, time, random, onProblem });
    closing.push(() => changes.close());
    const log = { report: (_: string, error: unknown) => onProblem(error), note: () => undefined };
    const platform = { ...systemPlatform, store, changes, log };
    const sealer = createSealer({
      masterKey: settings.masterKey ?? new Uint8Array(),
      formerMasterKeys: settings.previousMasterKeys,
      random,
    });
    const mail = createMail(platform, {
      sealer,
      smtpUrl: settings.smtpUrl,
      outboxFolder: join(resolve(settings.dataDir), 'outbox'),
      publicUrl: () => settings.publicUrl ?? '',
    });
    const identity = await createIdentity(platform, {
      sealer,
      endAccess: { revokeKeys: revokeAllKeys, revokeKeysOf, cancelInvites: cancelAllInvites },
      roleNow,
      mail,
      publicUrl: () => settings.publicUrl ?? '',
      registration: { policy: settings.registration, hasInvite: hasPendingInvite },
      verifyEmail: settings.verifyEmail,
    });
    closing.push(() => identity.close());
    const { book: invites } = createInvites(platform, {
      accounts: identity.accounts,
      mail,
      publicUrl: () => settings.publicUrl ?? '',
      requireVerified: (scope, work) => identity.verifiedOwners.require(scope, work),
      countMail: (tx, email) => identity.invitationMails.count(tx, email),
    });
    const keys = new KeyAdministration({ store, time, random });
    const vault = createVault(
      { ...systemPlatform, store },
      {
        masterKey: settings.masterKey ?? new Uint8Array(),
        previousMasterKeys: settings.previousMasterKeys,
        providers: () => [],
      },
    );
    await vault.prepare();
    return await work({ settings, store, changes, identity, invites, keys, mail, vault, sealer });
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

async function requireSchema(databaseUrl: string): Promise<void> {
  const { pendingMigrations, migrationProblem } = await examineDatabase(databaseUrl, systemPlatform.time);
  if (migrationProblem !== undefined) throw new CommandError(migrationProblem);
  if (pendingMigrations.length === 0) return;
  throw new CommandError(
    `Migrations of this version are pending (${pendingMigrations.length}), and a command that only reads applies none. Use ` +
      'the version that the nodes run; or make a backup, and then run troupe migrate or start a node.',
  );
}

/** Only the database in the data folder has its key there; the key of another one comes from the settings. */
async function withStoredKey(
  environment: Environment,
  { databaseUrl, dataDir }: Settings,
): Promise<Settings> {
  if (databaseUrl !== undefined) {
    throw new CommandError('TROUPE_MASTER_KEY is missing. Set it to the key that the nodes use.');
  }
  return readSettings({ ...environment, TROUPE_MASTER_KEY: await masterKeyOf(resolve(dataDir)) });
}
