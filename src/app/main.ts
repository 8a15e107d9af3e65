import { resolve } from 'node:path';
import { type ClusterConfig, systemTime, type Time } from '../../cluster/index.js';
import { type Settings } from '../kernel/config/index.js';
import type { Caller } from '../kernel/caller.js';
import { type Log } from '../infra/diagnostics/index.js';
import type { LookUpRecords } from '../infra/egress/index.js';
import {
  type AtEnd,
  type Close,
  type NodeEnvironment,
  makeHttpServer,
  makeSubjects,
  openStores,
} from './node/index.js';
import type { OperationTable } from '../http/operations/index.js';
import { type Bootstrap, seedDemo } from './seed/index.js';
import { makeFolder } from '../infra/storage/index.js';

export interface NodeParts {
  readonly settings: Settings;
  readonly nodeId: string;
  readonly log: Log;
  /** Default: the machine's clock. */
  readonly time?: Time;
  /**
   * Whether requests are refused while the event loop runs late; default true. Set false in a process that also does
   * other work, where lag does not mean that the node is overloaded.
   */
  readonly shedsLoad?: boolean;
  /** How long optional reads from Redis may wait for an answer; default: the limit of the shared values. */
  readonly sharedAnswerMsMax?: number;
  /** Timings of the runtime, for a process that shares its event loop with other work. */
  readonly cluster?: Partial<ClusterConfig>;
  /** Answers DNS queries; default: the machine's name servers. */
  readonly lookUp?: LookUpRecords;
}

export interface RunningNode {
  readonly baseUrl: string;
  readonly table: OperationTable;
  /** Set if the installation has a demo tenant. */
  readonly bootstrap: Bootstrap | undefined;
  /** Resolves when this process has lost its lease for good: stop it, then end the process. */
  readonly lost: Promise<void>;
  /** Lets running requests finish until the signal aborts, writes what is queued, closes everything. */
  stop(signal: AbortSignal): Promise<void>;
}

/**
 * The composition root: creates every part and passes it its dependencies. Parts are closed in the reverse order of
 * their creation, also when a later part fails to start.
 */
export async function startNode(parts: NodeParts): Promise<RunningNode> {
  const closing: Close[] = [];
  const stop = async (signal: AbortSignal): Promise<void> => {
    for (const close of closing.splice(0).toReversed()) {
      try {
        await close(signal);
      } catch (error) {
        parts.log.logger.error({ error }, 'a part did not close cleanly');
      }
    }
  };
  try {
    return { ...(await compose(parts, (close) => closing.push(close))), stop };
  } catch (error) {
    await stop(AbortSignal.timeout(1_000));
    throw error;
  }
}

async function compose(parts: NodeParts, atEnd: AtEnd): Promise<Omit<RunningNode, 'stop'>> {
  const { settings, nodeId, time = systemTime } = parts;
  const dataDir = resolve(settings.dataDir);
  await makeFolder(dataDir);
  let baseUrl = '';
  let lose = (): void => undefined;
  const lost = new Promise<void>((resolve) => (lose = resolve));
  const environment: NodeEnvironment = {
    settings,
    nodeId,
    log: parts.log,
    time,
    shedsLoad: parts.shedsLoad ?? true,
    sharedAnswerMsMax: parts.sharedAnswerMsMax,
    cluster: parts.cluster ?? {},
    lose,
    dataDir,
    lookUp: parts.lookUp,
    publicUrl: () => baseUrl,
    report: (attempted, error) => parts.log.logger.error({ error }, attempted),
    note: (what, facts) => parts.log.logger.info(facts, what),
    atEnd,
  };
  const stores = await openStores(environment);
  const subjects = await makeSubjects(environment, stores);
  atEnd(async (signal) => {
    await subjects.quota.flush();
    await subjects.actors.stop(signal);
  });
  const { edge, table } = makeHttpServer(environment, stores, subjects);
  // Every actor kind is registered now; the first request must find the actors.
  await subjects.actors.start();
  const port = await edge.listen();
  baseUrl = settings.publicUrl ?? `http://${hostInAddress(settings.httpHost)}:${port}`;
  // Mails contain the base URL, which is known only now.
  subjects.mail.start();
  subjects.ledger.start();
  await subjects.triggers.start();
  const bootstrap =
    settings.seed === 'demo'
      ? await seedDemo({
          table,
          dataDir,
          model: (settings.sim ?? true) ? 'sim.echo' : 'auto',
          baseUrl,
          tenantUrl: settings.tenantUrl ?? baseUrl,
          callerOf: async (userId, tenantId): Promise<Caller> => ({
            kind: 'tenant-user',
            userId,
            familyId: undefined,
            expiresAtMs: Number.POSITIVE_INFINITY,
            address: '127.0.0.1',
            ...(await subjects.identity.membershipOf(userId, tenantId)),
          }),
        })
      : undefined;
  return { baseUrl, table, bootstrap, lost };
}

/** The host in the URL that a local client uses for the listening address. */
function hostInAddress(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
