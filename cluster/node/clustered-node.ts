import type { Kind } from '../activation/kind.js';
import { clusterConfig, type ClusterConfig } from '../config.js';
import type { DrainResult } from '../drain/drain.js';
import { toClusterError } from '../errors.js';
import { PostgresNumbers } from '../fencing/postgres/view-numbers.js';
import { processId, type ProcessId } from '../ids/ids.js';
import { GrpcPeers } from '../links/grpc/peers.js';
import type { GrpcSettings } from '../links/grpc/settings.js';
import type { LinkTrouble } from '../links/link-troubles.js';
import { spokenProtocols } from '../links/protocol.js';
import { ClusterMembership } from '../membership/cluster-membership.js';
import type { Role } from '../membership/membership.js';
import type { MembershipEvent, MembershipParts } from '../membership/perspective.js';
import type { ProtocolTrace } from '../trace/events.js';
import { tracedMembership } from '../trace/traced-membership.js';
import { openRedisMembers } from '../membership/redis/member-store.js';
import { refuseOtherVersions } from '../membership/stated-version.js';
import { hasExited, hostName } from '../membership/watchdog/host.js';
import { Watchdog } from '../membership/watchdog/watchdog.js';
import { SystemLoopLag } from '../time/loop-lag.js';
import { systemRandom, systemTime } from '../time/system.js';
import { whenLeaseLost } from './lost-lease.js';
import { ClusterNode } from './node.js';

export interface ClusteredNodeOptions {
  readonly kinds: readonly Kind[];
  /** Clusters that share a Redis, a database or a network need different names. */
  readonly cluster: string;
  readonly secret: string;
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly databaseRole?: string;
  readonly roles: readonly Role[];
  readonly host: string;
  /** 0 takes a free port, which is then announced. */
  readonly port: number;
  /** host:port that peers dial, if it differs from the listener's own. */
  readonly advertise?: string;
  /** A `RenewableTls` where certificates are replaced while the process runs. */
  readonly tls?: GrpcSettings['tls'];
  /** Where links may run without TLS; only on the loopback by default. */
  readonly plaintext?: GrpcSettings['plaintext'];
  readonly weight?: number;
  /** A readable name; a random suffix makes the process id new at each start. */
  readonly name?: string;
  /** The version of the program, which other processes and descriptions show. */
  readonly version?: string;
  /** The process id itself, if the caller needs it before the node is open. Never reuse one. */
  readonly process?: ProcessId;
  readonly config?: Partial<ClusterConfig>;
  /** Whether to detect exits of processes on the same machine. */
  readonly seesExits?: boolean;
  readonly report?: (event: MembershipEvent) => void;
  /** Receives the steps of the protocol, for a checker (`cluster/trace`). */
  readonly trace?: ProtocolTrace;
  /** Called when a link was closed because of the behaviour of its peer. */
  readonly onLinkTrouble?: (trouble: LinkTrouble) => void;
  /** Ends outside effects that no actor makes, before an orderly stop releases the lease. It must end by itself. */
  readonly beforeLeave?: () => Promise<void>;
  /** A peer asks this process to leave in order and end: call `stop`, then end the process. */
  readonly onLeaveAsked?: () => void;
  /** The lease is lost for good and released, and the actors have ended: finish the open requests, then exit. */
  readonly onFenced?: () => void;
}

export interface ClusteredNode {
  readonly node: ClusterNode;
  /** Drains, leaves, closes. */
  stop(signal?: AbortSignal): Promise<DrainResult>;
}

/** Appends a random suffix to the name, so that the id is new at each start. */
export function freshProcessId(name: string): ProcessId {
  return processId(`${name}-${systemRandom.id().slice(0, 12)}`);
}

/**
 * A node of a cluster on the system clock: members in Redis, view numbers in PostgreSQL, gRPC links and the watchdog.
 * Throws an error that names the service it cannot reach.
 */
export async function openClusteredNode(options: ClusteredNodeOptions): Promise<ClusteredNode> {
  const { cluster, secret, host, port } = options;
  const config = clusterConfig(options.config);
  const self = options.process ?? freshProcessId(options.name ?? 'node');
  const store = await openRedisMembers({
    url: options.redisUrl,
    cluster,
    config,
    random: systemRandom,
    time: systemTime,
  });
  const numbers = new PostgresNumbers({
    databaseUrl: options.databaseUrl,
    ...(options.databaseRole === undefined ? {} : { role: options.databaseRole }),
    statementTimeoutMs: config.statementTimeoutMs,
    connectTimeoutMs: config.connectTimeoutMs,
    time: systemTime,
    cluster,
  });
  // Checks PostgreSQL at start. Otherwise a node that joins an existing view would detect the failure only at the
  // next change of view, and the first node of a cluster would wait for it.
  await numbers.seized().catch(async (error: unknown) => {
    await Promise.all([store.close(), numbers.close()]);
    throw error;
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
      ...(options.plaintext === undefined ? {} : { plaintext: options.plaintext }),
      ...(options.onLinkTrouble === undefined ? {} : { report: options.onLinkTrouble }),
    },
    config,
    systemTime,
    systemRandom,
  );
  // Port 0 becomes known when the listener is bound, which is before the node is announced.
  let address = options.advertise ?? `${host}:${port}`;
  const { trace } = options;
  const parts: MembershipParts = {
    self: {
      process: self,
      get address() {
        return address;
      },
      weight: options.weight ?? 1,
      roles: options.roles,
      host: options.seesExits === false ? self : hostName(),
      pid: process.pid,
      ...(options.version === undefined ? {} : { version: options.version }),
      protocols: spokenProtocols,
    },
    store,
    numbers,
    probe: peers,
    time: systemTime,
    random: systemRandom,
    config,
    hasExited,
    ...(options.report === undefined ? {} : { report: options.report }),
  };
  const membership = new ClusterMembership(trace === undefined ? parts : tracedMembership(parts, trace));
  const loopLag = new SystemLoopLag();
  const node = new ClusterNode({
    kinds: options.kinds,
    membership,
    transport: peers,
    link: { cluster, secret },
    config,
    time: systemTime,
    random: systemRandom,
    loopLag,
    ...(trace === undefined ? {} : { trace }),
    ...(options.beforeLeave === undefined ? {} : { beforeLeave: options.beforeLeave }),
    ...(options.onLeaveAsked === undefined ? {} : { onLeaveAsked: options.onLeaveAsked }),
  });
  const watchdog = new Watchdog(systemTime, config.watchdogMs);
  const close = async (): Promise<void> => {
    loopLag.stop();
    await Promise.all([store.close(), numbers.close(), watchdog.stop()]);
  };
  try {
    address = await node.listen();
    await refuseOtherVersions(store, parts.self, systemTime, config);
    await node.start(AbortSignal.timeout(config.memberStoreStartMs * 4));
  } catch (error) {
    await node.stop();
    await close();
    // The start's time-out is not a ClusterError.
    throw toClusterError(error, 'membership_unavailable');
  }
  if (options.onFenced !== undefined) whenLeaseLost(membership, options.onFenced);
  return {
    node,
    stop: async (signal) => {
      const result = await node.stop(signal);
      await close();
      return result;
    },
  };
}
