import type { Kind } from '../activation/kind.js';
import { clusterConfig, type ClusterConfig } from '../config.js';
import type { DrainResult } from '../drain/drain.js';
import { PostgresNumbers } from '../fencing/postgres/view-numbers.js';
import { processId } from '../ids/ids.js';
import { GrpcPeers } from '../links/grpc/peers.js';
import type { GrpcTls } from '../links/grpc/settings.js';
import { ClusterMembership } from '../membership/cluster-membership.js';
import type { Role } from '../membership/membership.js';
import type { MembershipEvent } from '../membership/perspective.js';
import { openRedisMembers } from '../membership/redis/member-store.js';
import { hasExited, hostName } from '../membership/watchdog/host.js';
import { Watchdog } from '../membership/watchdog/watchdog.js';
import { systemRandom, systemTime } from '../time/system.js';
import { ClusterNode } from './node.js';

export interface ClusteredNodeOptions {
  readonly kinds: readonly Kind[];
  /** Clusters that share a Redis, a database or a network have different names. */
  readonly cluster: string;
  readonly secret: string;
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly databaseRole?: string;
  readonly roles: readonly Role[];
  readonly host: string;
  readonly port: number;
  /** host:port that peers dial, where it is not the listener's own. */
  readonly advertise?: string;
  readonly tls?: GrpcTls;
  readonly weight?: number;
  /** A name for people; the process id adds what makes it fresh at each start. */
  readonly name?: string;
  readonly config?: Partial<ClusterConfig>;
  /** Takes part in seeing the exits of processes on its own machine. */
  readonly seesExits?: boolean;
  readonly report?: (event: MembershipEvent) => void;
  /** The lease is lost for good: actors have ended; finish what the edge carries, then end the process. */
  readonly onFenced?: () => void;
}

export interface ClusteredNode {
  readonly node: ClusterNode;
  /** Drains, leaves, closes. */
  stop(signal?: AbortSignal): Promise<DrainResult>;
}

/**
 * A node of a cluster on the machine's own clock: members in Redis, view numbers in PostgreSQL, links over
 * gRPC, and the watchdog. What cannot be reached is said by the error that this throws.
 */
export async function openClusteredNode(options: ClusteredNodeOptions): Promise<ClusteredNode> {
  const { cluster, secret, host, port } = options;
  const config = clusterConfig(options.config);
  const self = processId(`${options.name ?? 'node'}-${systemRandom.id().slice(0, 12)}`);
  const store = await openRedisMembers({ url: options.redisUrl, cluster, config, random: systemRandom });
  const numbers = new PostgresNumbers({
    databaseUrl: options.databaseUrl,
    ...(options.databaseRole === undefined ? {} : { role: options.databaseRole }),
    statementTimeoutMs: config.statementTimeoutMs,
    connectTimeoutMs: config.connectTimeoutMs,
    cluster,
  });
  const peers = new GrpcPeers(
    {
      self,
      cluster,
      secret,
      host,
      port,
      ...(options.advertise === undefined ? {} : { advertise: options.advertise }),
      ...(options.tls === undefined ? {} : { tls: options.tls }),
    },
    systemRandom,
  );
  const membership = new ClusterMembership({
    self: {
      process: self,
      address: options.advertise ?? `${host}:${port}`,
      weight: options.weight ?? 1,
      roles: options.roles,
      host: options.seesExits === false ? self : hostName(),
      pid: process.pid,
    },
    store,
    numbers,
    probe: peers,
    time: systemTime,
    random: systemRandom,
    config,
    hasExited,
    ...(options.report === undefined ? {} : { report: options.report }),
  });
  const node = new ClusterNode({
    kinds: options.kinds,
    membership,
    transport: peers,
    link: { cluster, secret },
    config,
    time: systemTime,
    random: systemRandom,
  });
  const watchdog = new Watchdog(systemTime, config.watchdogMs);
  const close = async (): Promise<void> => {
    await Promise.all([store.close(), numbers.close(), watchdog.stop()]);
  };
  try {
    await node.listen();
    await node.start(AbortSignal.timeout(config.memberStoreStartMs * 4));
  } catch (error) {
    await node.stop();
    await close();
    throw error;
  }
  // Only now: the node's own listeners come first, so that every actor has ended when this is told.
  if (options.onFenced !== undefined) membership.onFenced(options.onFenced);
  return {
    node,
    stop: async (signal) => {
      const result = await node.stop(signal);
      await close();
      return result;
    },
  };
}
