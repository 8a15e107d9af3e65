import { join, resolve } from 'node:path';
import { systemTime } from '../../../cluster/index.js';
import { describeLinkProtection, LinkProtectionError } from '../../infra/runtime/index.js';
import { readSettings, type Settings, SettingsError } from '../../kernel/config/index.js';
import { examineDatabase, examineRedis, runningEmbeddedPostgres } from '../../infra/storage/index.js';
import { didYouMean } from '../../kernel/closest-name.js';
import { fingerprintOf, neededMasterKeys } from '../../tenancy/vault/index.js';
import { knownMasterKeys } from './backup.js';
import { type Command, reasonsOf, usageError } from './command.js';
import { bytesNeededBy, openDataFolder } from './data-folder.js';
import type { Finding } from './finding.js';
import { usageOf } from './help.js';
import { operatorHelp } from './operator-help.js';
import { checkOutsideServices } from './outside-services.js';
import { databaseVersionMin, serviceProblem } from './services.js';
import { checkNodes, checkOwnVersion, checkSchema } from './versions.js';

const commandUsage = usageOf(operatorHelp.doctor);
const options = Object.keys(operatorHelp.doctor.options).map((name) => `--${name}`);

export const doctorCommand: Command = {
  run: async (rest, environment) => {
    refuseUnknown(rest);
    const findings: Finding[] = [checkRuntime(), checkOwnVersion()];
    let settings: Settings | undefined;
    try {
      settings = readSettings(environment);
      findings.push({ what: 'settings', state: 'ok', says: 'all are valid' });
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      for (const says of error.problems) findings.push({ what: 'settings', state: 'wrong', says });
    }
    if (settings !== undefined) {
      const database = await checkDatabase(settings);
      // Loaded only if asked for: it brings most of the product with it.
      const vendors = rest.includes('--vendors')
        ? await (await import('./vendor-checks.js')).checkVendors(settings)
        : [];
      findings.push(
        await checkFolder(settings.dataDir),
        ...database.findings,
        await checkRedis(settings),
        await checkLinks(settings),
        await checkMasterKey(settings, database.masterKeys),
        ...(await checkOutsideServices(settings)),
        ...vendors,
      );
      const { databaseUrl, redisUrl } = settings;
      const hasAnswered = findings.some(({ what }) => what === 'schema');
      const isUsable = findings.some(({ what, state }) => what === 'Redis' && state === 'ok');
      if (databaseUrl !== undefined && redisUrl !== undefined && hasAnswered && isUsable) {
        findings.push(await checkNodes({ databaseUrl, redisUrl }));
      }
    }
    const marks = { ok: '  ok     ', warning: '  warn   ', wrong: '  WRONG  ' };
    process.stdout.write(
      `${findings.map(({ what, state, says }) => `${marks[state]}${what}: ${says}`).join('\n')}\n`,
    );
    if (findings.some(({ state }) => state === 'wrong')) process.exitCode = 1;
  },
};

function checkRuntime(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const fits = major > 20 || (major === 20 && minor >= 19);
  return fits
    ? { what: 'Node', state: 'ok', says: process.versions.node }
    : { what: 'Node', state: 'wrong', says: `${process.versions.node} is too old; install 20.19 or later` };
}

async function checkFolder(folder: string): Promise<Finding> {
  try {
    return {
      what: 'data folder',
      state: 'ok',
      says: await openDataFolder(folder, bytesNeededBy(join(folder, 'postgres'))),
    };
  } catch (error) {
    return { what: 'data folder', state: 'wrong', says: reasonsOf(error)[0] ?? String(error) };
  }
}

function refuseUnknown(rest: readonly string[]): void {
  const unknown = rest.find((word) => !options.includes(word));
  if (unknown === undefined) return;
  throw usageError(`there is no option ${unknown}.${didYouMean(unknown, options)}`, commandUsage);
}

interface ExaminedDatabase {
  readonly findings: readonly Finding[];
  /** The fingerprints of the master keys that its vault needs; undefined if they cannot be read. */
  readonly masterKeys: readonly string[] | undefined;
}

async function checkDatabase(settings: Settings): Promise<ExaminedDatabase> {
  const what = 'PostgreSQL';
  const url =
    settings.databaseUrl ?? (await runningEmbeddedPostgres(join(resolve(settings.dataDir), 'postgres')));
  if (url === undefined) {
    const says =
      'DATABASE_URL is unset; `troupe start` runs its own database, `troupe serve` needs this setting';
    return { findings: [{ what, state: 'warning', says }], masterKeys: undefined };
  }
  try {
    const facts = await examineDatabase(url, systemTime, neededMasterKeys);
    const found: Finding[] = [{ what, state: 'ok', says: `${facts.version} responds` }, checkSchema(facts)];
    const add = (state: Finding['state'], says: string): void => void found.push({ what, state, says });
    if (facts.versionNumber < databaseVersionMin)
      add('wrong', `${facts.version} is too old; 15 or later is needed`);
    if (!facts.mayCreateRoles) {
      add(
        'warning',
        'the account may not create roles, which the first migration needs; run ALTER ROLE … CREATEROLE',
      );
    }
    if (facts.migrationProblem !== undefined) add('wrong', facts.migrationProblem);
    if (facts.pendingMigrations.length > 0) {
      add(
        'warning',
        `${facts.pendingMigrations.length} migrations are pending; a starting node or \`troupe migrate\` applies them`,
      );
    }
    if (!facts.durableCommits)
      add('wrong', 'commits are not durable; set fsync and synchronous_commit to on');
    if (!facts.synchronousStandbys) {
      add(
        'warning',
        'no synchronous standby: a failover may lose the last commits; set synchronous_standby_names',
      );
    }
    if (Math.abs(facts.clockAheadMs) > 2_000) {
      add(
        'warning',
        `its clock and the clock of this machine differ by ${Math.round(facts.clockAheadMs)} ms; synchronise both with NTP`,
      );
    }
    return { findings: found, masterKeys: facts.ids };
  } catch (error) {
    const says = serviceProblem({ variable: 'DATABASE_URL', url }, error).message;
    return { findings: [{ what, state: 'wrong', says }], masterKeys: undefined };
  }
}

async function checkRedis({ redisUrl }: Settings): Promise<Finding> {
  const what = 'Redis';
  if (redisUrl === undefined) {
    return {
      what,
      state: 'warning',
      says: 'REDIS_URL is unset; a single node runs without Redis, `troupe serve` needs this setting',
    };
  }
  try {
    const { version, evictionPolicy, replicas, needsReplicas } = await examineRedis(redisUrl, systemTime);
    if (evictionPolicy !== 'noeviction') {
      return {
        what,
        state: 'wrong',
        says: `maxmemory-policy is ${evictionPolicy}; set it to noeviction, or Redis may evict the records of nodes`,
      };
    }
    if (replicas > 0 && !needsReplicas) {
      return {
        what,
        state: 'wrong',
        says:
          'min-replicas-to-write is 0: after a failover the old master would go on accepting the leases of nodes ' +
          'that still reach it; set min-replicas-to-write to 1 and min-replicas-max-lag to 3 on all its servers',
      };
    }
    return { what, state: 'ok', says: `${version} responds` };
  } catch (error) {
    return {
      what,
      state: 'wrong',
      says: serviceProblem({ variable: 'REDIS_URL', url: redisUrl }, error).message,
    };
  }
}

async function checkLinks(settings: Settings): Promise<Finding> {
  const what = 'links between nodes';
  try {
    const { isGuarded, says } = await describeLinkProtection(settings);
    return { what, state: isGuarded ? 'ok' : 'warning', says };
  } catch (error) {
    if (!(error instanceof LinkProtectionError)) throw error;
    return { what, state: 'wrong', says: error.message };
  }
}

/** The fingerprint tells keys apart and reveals nothing about them. */
async function checkMasterKey(settings: Settings, needed: readonly string[] | undefined): Promise<Finding> {
  const what = 'master key';
  const keys = (await knownMasterKeys(settings)).map(fingerprintOf);
  const [first] = keys;
  if (first === undefined) {
    const says =
      'TROUPE_MASTER_KEY is unset; `troupe serve` needs it; create one with openssl rand -base64 32';
    return { what, state: 'warning', says };
  }
  const [missing] = (needed ?? []).filter((id) => !keys.includes(id));
  if (missing !== undefined) {
    const says =
      `its fingerprint is ${first}, but the vault of this database needs the key with the fingerprint ${missing}; ` +
      'set that key as TROUPE_MASTER_KEY, or among TROUPE_MASTER_KEYS_PREVIOUS';
    return { what, state: 'wrong', says };
  }
  const fits = needed === undefined || needed.length === 0 ? '' : ', and the vault of this database fits it';
  return { what, state: 'ok', says: `its fingerprint is ${first}${fits}` };
}
