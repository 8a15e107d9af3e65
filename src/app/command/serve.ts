import { randomUUID } from 'node:crypto';
import { linkProtectionOf, LinkProtectionError } from '../../infra/runtime/index.js';
import { readSettings } from '../../kernel/config/index.js';
import { createLog } from '../../infra/diagnostics/index.js';
import { startNode } from '../main.js';
import { type Command, CommandError } from './command.js';
import { openDataFolder } from './data-folder.js';
import { requirePorts } from './ports.js';
import { requireDatabase, requireRedis } from './services.js';
import { stopSignal } from './signals.js';

/** How long running requests may take to finish after SIGTERM; orchestrators usually kill after 30 s. */
const drainMsMax = 25_000;

/** After its stop nothing may keep the process; within the 30 s even if the drain took all of its time. */
const lingerMs = 2_000;

/** A supervisor starts the process anew: only under a new process id may it join again. */
const leaseLostExitCode = 3;

export const serveCommand: Command = {
  run: async (_rest, environment) => {
    const settings = readSettings(environment, {
      required: ['databaseUrl', 'redisUrl', 'masterKey'],
      requiredWith: [
        {
          setting: 'mailDomain',
          with: 'smtpInPort',
          why: 'mail is taken for <trigger_id>@<domain>, and answers are sent from there',
        },
      ],
      defaults: { seed: 'none', egressAllow: '', mailSenderCheck: 'dmarc' },
    });
    const nodeId = settings.nodeId ?? randomUUID();
    const log = createLog({ level: settings.logLevel, fields: { node: nodeId } });
    await linkProtectionOf(settings).catch((cause: unknown) => {
      throw cause instanceof LinkProtectionError ? new CommandError(cause.message, { cause }) : cause;
    });
    // Said before anything is begun: a node that cannot reach what it needs must not look as if it started.
    await openDataFolder(settings.dataDir);
    await requirePorts(settings);
    await requireDatabase(settings.databaseUrl ?? '');
    await requireRedis(settings.redisUrl ?? '');
    const stopping = stopSignal();
    const node = await startNode({ settings, nodeId, log });
    log.logger.info({ url: node.baseUrl }, 'serving');
    const lost = node.lost.then(() => 'lease lost' as const);
    const why = await Promise.race([stopping, lost]);
    if (why === 'lease lost') {
      log.logger.fatal('another node owns what this one did; the process ends once its open requests have');
      process.exitCode = leaseLostExitCode;
    } else {
      log.logger.info({ signal: why }, 'stopping');
    }
    await node.stop(AbortSignal.timeout(drainMsMax));
    log.logger.info('stopped');
    log.flush();
    endSoon(log);
  },
};

/** What still holds the process is a defect, which is told of and is no reason to make a supervisor wait. */
function endSoon({ logger, flush }: ReturnType<typeof createLog>): void {
  const end = (): void => {
    logger.warn({ held: process.getActiveResourcesInfo() }, 'something held the process after its stop');
    flush();
    process.exit(process.exitCode ?? 0);
  };
  // It counts itself for nothing: a process that nothing holds ends before.
  setTimeout(end, lingerMs).unref();
}
