import { resolve } from 'node:path';
import { type ClusterConfig, freshProcessId, systemTime, type Time } from '../../cluster/index.js';
import { type Settings, version } from '../kernel/config/index.js';
import type { Caller } from '../kernel/caller.js';
import { type Log } from '../infra/diagnostics/index.js';
import { startTelemetry } from '../infra/telemetry/index.js';
import type { LookUpRecords } from '../infra/egress/index.js';
import {
  type AtEnd,
  type Close,
  isMember,
  type NodeEnvironment,
  type NodeLimits,
  makeHttpServer,
  makeSubjects,
  openStores,
} from './node/index.js';
import { closeAll } from './closing.js';
import { processName } from '../models/usage/index.js';
import type { OperationTable } from '../http/operations/index.js';
import { type Bootstrap, seedDemo } from './seed/index.js';
import { systemIds, systemRandom } from '../infra/platform/index.js';
import { makeFolder } from '../infra/storage/index.js';

/**
 * The limits of a node in production. With a mean lag of half a second, every caller already waits longer than most
 * clients set as their limit.
 */
export const nodeLimits: NodeLimits = { lagMsMax: 500, sharedAnswerMsMax: 50, answerTurnMsMax: 5_000 };

export interface NodeParts {
  readonly settings: Settings;
  readonly nodeId: string;
  readonly log: Log;
  /** Default: the machine's clock. */
  readonly time?: Time;
  /** Default: `nodeLimits`. A process that shares its machine or event loop with other work hands in its own. */
  readonly limits?: NodeLimits;
  /** Timings of the runtime, for a process that shares its event loop with other work. */
  readonly cluster?: Partial<ClusterConfig>;
  /** Answers DNS queries; default: the machine's name servers. */
  readonly lookUp?: LookUpRecords;
  /** The operator drains this node: stop it, then end the process. Without it, the operator is refused. */
  readonly onLeaveAsked?: () => void;
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
  const stop = (signal: AbortSignal): Promise<void> =>
    closeAll(closing.splice(0).toReversed(), signal, {
      time: parts.time ?? systemTime,
      report: (error) => parts.log.logger.error({ error }, 'a part did not close cleanly'),
    });
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
  const process = freshProcessId(nodeId);
  const environment: NodeEnvironment = {
    settings,
    process,
    processName: processName(process, isMember(settings)),
    log: parts.log,
    time,
    ids: systemIds,
    random: systemRandom,
    limits: parts.limits ?? nodeLimits,
    cluster: parts.cluster ?? {},
    lose,
    onLeaveAsked: parts.onLeaveAsked,
    dataDir,
    lookUp: parts.lookUp,
    publicUrl: () => baseUrl,
    atEnd,
  };
  let readMetrics = (): Promise<string> => Promise.resolve('');
  const telemetry = await startTelemetry({
    settings,
    nodeId,
    version,
    log: parts.log,
    time,
    metrics: () => readMetrics(),
  });
  // Registered first, so closed last: the spans and lines of the stop are sent too.
  if (telemetry !== undefined) atEnd(() => telemetry.stop());
  const stores = await openStores(environment);
  const subjects = await makeSubjects(environment, stores);
  atEnd(async (signal) => {
    await subjects.quota.flush();
    await subjects.actors.stop(signal);
  });
  const { edge, table, metrics } = makeHttpServer(environment, stores, subjects);
  readMetrics = () => metrics.text();
  // Every actor kind is registered now; the first request must find the actors.
  await subjects.actors.start();
  const port = await edge.listen();
  baseUrl = settings.publicUrl ?? `http://${hostInAddress(settings.httpHost)}:${port}`;
  // Mails contain the base URL, which is known only now.
  subjects.mail.start();
  subjects.ledger.start();
  await subjects.triggers.start();
  for (const claims of subjects.claims) claims.start();
  subjects.retention.start();
  subjects.removal.start();
  const bootstrap =
    settings.seed === 'demo'
      ? await seedDemo({
          table,
          dataDir,
          model: (settings.sim ?? true) ? 'sim.echo' : 'auto',
          baseUrl,
          register: (account) => subjects.identity.accounts.registerByOperator(account),
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
