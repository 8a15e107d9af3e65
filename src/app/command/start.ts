import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Environment, readSettings, type Settings } from '../../kernel/config/index.js';
import { createLog, LogDestination } from '../../infra/diagnostics/index.js';
import type { Bootstrap } from '../seed/index.js';
import {
  type EmbeddedPostgres,
  runningEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../infra/storage/index.js';
import { type Command, CommandError } from './command.js';
import { bytesNeededBy, folderProblem, openDataFolder } from './data-folder.js';
import { masterKeyOf } from './installation.js';
import { requirePorts } from './ports.js';
import { requireDatabase, requireRedis } from './services.js';
import { drainAsked, starterGone, stopSignal } from './signals.js';

const drainMsMax = 10_000;

export const startCommand: Command = {
  run: async (_rest, environment) => {
    const startedByNpm = environment['npm_lifecycle_event'] === 'start';
    const stopping = startedByNpm ? Promise.race([stopSignal(), starterGone()]) : stopSignal();
    const defaults = {
      seed: 'demo',
      egressAllow: '127.0.0.0/8,::1/128',
      logLevel: 'warn',
      grpcPort: '0',
      sim: 'on',
      mailSenderCheck: 'off',
    } as const;
    const first = readSettings(environment, { defaults });
    const dataDir = await openDataFolder(
      first.dataDir,
      first.databaseUrl === undefined ? bytesNeededBy(join(first.dataDir, databaseFolder)) : undefined,
    );
    await tryPorts(first, dataDir);
    if (first.databaseUrl !== undefined) await requireDatabase(first.databaseUrl);
    if (first.redisUrl !== undefined) await requireRedis(first.redisUrl);
    // The product loads while the database starts, and not before a fault is reported. runNode throws what fails here.
    void import('../main.js').catch(() => undefined);
    const database = first.databaseUrl === undefined ? await startDatabase(dataDir) : undefined;
    try {
      const given = await givenByInstallation(dataDir, environment, database?.connectionString);
      const settings = readSettings(given, { defaults });
      await runNode(settings, stopping, database?.ended);
    } catch (error) {
      throw folderProblem(dataDir, error) ?? error;
    } finally {
      await database?.stop();
    }
    process.stdout.write('Stopped. The data is kept.\n');
  },
};

const databaseFolder = 'postgres';

/** A port is usually taken by another node of the same data folder; check for one. */
async function tryPorts(settings: Settings, dataDir: string): Promise<void> {
  try {
    await requirePorts(settings);
  } catch (error) {
    // If this cannot be told, only the clearer message is lost: the error of the ports is thrown.
    const running = await runningEmbeddedPostgres(join(dataDir, databaseFolder)).catch(() => undefined);
    if (running === undefined || !(error instanceof CommandError)) throw error;
    throw new CommandError(`a node already runs on the data folder ${dataDir}. ${error.message}`, {
      cause: error,
    });
  }
}

async function startDatabase(dataDir: string): Promise<EmbeddedPostgres> {
  try {
    return await startEmbeddedPostgres({ directory: join(dataDir, databaseFolder) });
  } catch (error) {
    throw folderProblem(dataDir, error) ?? error;
  }
}

/** Adds the settings that a production node gets from outside and a single node creates in its data folder. */
async function givenByInstallation(
  dataDir: string,
  environment: Environment,
  databaseUrl: string | undefined,
): Promise<Environment> {
  const masterKey =
    environment['TROUPE_MASTER_KEY'] === undefined && environment['TROUPE_MASTER_KEY_FILE'] === undefined
      ? await masterKeyOf(dataDir)
      : undefined;
  return {
    ...environment,
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    ...(masterKey === undefined ? {} : { TROUPE_MASTER_KEY: masterKey }),
  };
}

async function runNode(
  settings: Settings,
  stopping: Promise<string>,
  databaseEnded: Promise<void> | undefined,
): Promise<void> {
  // Standard output shows the greeting, so the log goes to standard error.
  const log = createLog({ level: settings.logLevel, destination: new LogDestination(2) });
  const drained = drainAsked();
  const nodeId = settings.nodeId ?? randomUUID();
  const { startNode } = await import('../main.js');
  const node = await startNode({ settings, nodeId, log, onLeaveAsked: drained.ask });
  process.stdout.write(greeting(node.baseUrl, node.bootstrap, settings.dataDir));
  const ended = databaseEnded?.then(() => new Error('the database stopped unexpectedly'));
  const lost = node.lost.then(() => new Error('this process lost its lease: other nodes have taken over'));
  const why = await Promise.race([stopping, drained.asked, lost, ...(ended === undefined ? [] : [ended])]);
  process.stdout.write('\nStopping…\n');
  await node.stop(AbortSignal.timeout(drainMsMax));
  log.flush();
  if (why instanceof Error) throw why;
}

function greeting(baseUrl: string, bootstrap: Bootstrap | undefined, dataDir: string): string {
  const lines = ['', `Troupe is ready at ${baseUrl}`, ''];
  if (bootstrap !== undefined) {
    const { owner, api_key: apiKey, agent_id: agentId, tenant_id: tenantId } = bootstrap;
    lines.push(
      `  sign in    ${owner.email} / ${owner.password}`,
      `  tenant     ${tenantId}`,
      `  API key    ${apiKey}`,
      `  agent      ${agentId}`,
      '',
      'Try a streamed answer:',
      '',
      `  curl -N ${baseUrl}/api/v3/llm/public/call \\`,
      `    -H 'X-Api-Key: ${apiKey}' -H 'Content-Type: application/json' \\`,
      `    -d '{"model": "sim.echo", "query": "Hello, Troupe!", "stream": true}'`,
      '',
      `All of this is stored in ${join(dataDir, 'bootstrap.json')}.`,
    );
  }
  lines.push(
    `Console:    ${baseUrl}/`,
    `Playground: ${baseUrl}/playground`,
    `Documents:  ${baseUrl}/docs`,
    `Ctrl-C stops.`,
    '',
    '',
  );
  return lines.join('\n');
}
