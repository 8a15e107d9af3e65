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
  makeDoor,
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
  /** The machine's clock when left out. */
  readonly time?: Time;
  /**
   * Whether requests are refused while the event loop runs late; so it is when left out. Not for a process that does
   * other work besides: what is late there need not be the node.
   */
  readonly sheds?: boolean;
  /** How long an answer of Redis to what would not be missed is waited for; its own bound when left out. */
  readonly sharedAnswerMsMax?: number;
  /** Timings of the runtime in place of its own: for a process that nodes share with what holds them up. */
  readonly cluster?: Partial<ClusterConfig>;
  /** Who is asked for DNS records; the machine's name servers when left out. */
  readonly lookUp?: LookUpRecords;
}

export interface RunningNode {
  readonly baseUrl: string;
  readonly table: OperationTable;
  /** Where the installation began with a demo tenant. */
  readonly bootstrap: Bootstrap | undefined;
  /** Resolves when this process lost its place among the nodes for good: stop it, then end the process. */
  readonly lost: Promise<void>;
  /** Lets running requests finish until the signal aborts, writes what waits, closes everything. */
  stop(signal: AbortSignal): Promise<void>;
}

/**
 * The composition: every part is made here and handed what it needs. Parts are closed in the reverse order of their
 * making, also when a later one could not be made.
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
  const ground: NodeEnvironment = {
    settings,
    nodeId,
    log: parts.log,
    time,
    sheds: parts.sheds ?? true,
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
  const stores = await openStores(ground);
  const subjects = await makeSubjects(ground, stores);
  atEnd(async (signal) => {
    await subjects.quota.flush();
    await subjects.actors.stop(signal);
  });
  const { edge, table } = makeDoor(ground, stores, subjects);
  // Every subject has said what lives on this node; the first request must find the actors there.
  await subjects.actors.start();
  const port = await edge.listen();
  baseUrl = settings.publicUrl ?? `http://${hostInAddress(settings.httpHost)}:${port}`;
  // Only now is it known where the product is reached, which mails say.
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

/** What a local caller writes for the address that the server listens on. */
function hostInAddress(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
