import { randomUUID } from 'node:crypto';
import { linkProtectionOf, LinkProtectionError } from '../../infra/runtime/index.js';
import type { ClusterConfig } from '../../../cluster/index.js';
import { type Environment, readSettings } from '../../kernel/config/index.js';
import type { NodeLimits } from '../node/node-environment.js';
import { createLog } from '../../infra/diagnostics/index.js';
import { type Command, CommandError } from './command.js';
import { openDataFolder } from './data-folder.js';
import { requirePorts } from './ports.js';
import { requireDatabase, requireRedis } from './services.js';
import { drainAsked, stopSignal } from './signals.js';

/** What a process that shares its machine with other work may set besides the settings of operators. */
export interface ServeParts {
  /** The time for running requests to finish after SIGTERM. */
  readonly drainMsMax?: number;
  /** Timings of the runtime. */
  readonly cluster?: Partial<ClusterConfig>;
  /** Limits of the node, for a process that shares its cores with other work. */
  readonly limits?: Partial<NodeLimits>;
}

/** The files of deploy/ have a process killed after 35 s. */
const drainMsMaxDefault = 25_000;

/** After this time the stopped process exits; with the longest drain and hanging connections it still exits within 35 s. */
const lingerMs = 2_000;

/** A supervisor restarts the process: it can join again only under a new process id. */
const leaseLostExitCode = 3;

export const serveCommand: Command = { run: (_rest, environment) => serve(environment) };

/** Runs one node until it is told to stop, or loses its lease. */
export async function serve(
  environment: Environment,
  { drainMsMax = drainMsMaxDefault, cluster = {}, limits = {} }: ServeParts = {},
): Promise<void> {
  const settings = readSettings(environment, {
    required: ['databaseUrl', 'redisUrl', 'masterKey'],
    requiredWith: [
      {
        setting: 'mailDomain',
        with: 'smtpInPort',
        why: 'email triggers receive mail at <trigger_id>@<domain> and send their answers from there',
      },
    ],
    defaults: { seed: 'none', egressAllow: '', mailSenderCheck: 'dmarc', verifyEmail: 'on' },
  });
  const nodeId = settings.nodeId ?? randomUUID();
  const log = createLog({ level: settings.logLevel, fields: { node: nodeId } });
  await linkProtectionOf(settings).catch((cause: unknown) => {
    throw cause instanceof LinkProtectionError ? new CommandError(cause.message, { cause }) : cause;
  });
  // Check dependencies before starting: a node that cannot reach them must not look as if it started.
  await openDataFolder(settings.dataDir);
  await requirePorts(settings);
  await requireDatabase(settings.databaseUrl ?? '');
  await requireRedis(settings.redisUrl ?? '');
  const stopping = stopSignal();
  const drained = drainAsked();
  // Loaded last: it takes a second, and a fault of a setting or a service is reported without it.
  const { nodeLimits, startNode } = await import('../main.js');
  const node = await startNode({
    settings,
    nodeId,
    log,
    cluster,
    limits: { ...nodeLimits, ...limits },
    onLeaveAsked: drained.ask,
  });
  log.logger.info({ url: node.baseUrl }, 'serving');
  const lost = node.lost.then(() => 'lease lost' as const);
  const why = await Promise.race([stopping, drained.asked, lost]);
  if (why === 'lease lost') {
    log.logger.fatal('this process lost its lease; it exits when its open requests have ended');
    process.exitCode = leaseLostExitCode;
  } else {
    log.logger.info({ reason: why }, 'stopping');
  }
  await node.stop(AbortSignal.timeout(drainMsMax));
  log.logger.info('stopped');
  log.flush();
  endSoon(log);
}

/** A resource that still holds the process is a defect: it is logged, and a supervisor need not wait for it. */
function endSoon({ logger, flush }: ReturnType<typeof createLog>): void {
  const end = (): void => {
    logger.warn({ held: process.getActiveResourcesInfo() }, 'something held the process after its stop');
    flush();
    process.exit(process.exitCode ?? 0);
  };
  // The timer is unreferenced: a process without open resources ends before.
  setTimeout(end, lingerMs).unref();
}
