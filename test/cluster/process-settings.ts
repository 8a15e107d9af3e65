import { clusterConfig, type ClusterConfig } from '../../cluster/config.js';
import { durableCounter } from '../../cluster/example/counter.js';
import { postgresCounterTables } from '../../cluster/example/postgres-counter.js';
import { GroupCommit } from '../../cluster/fencing/group-commit.js';
import { PostgresFenceStore } from '../../cluster/fencing/postgres/fence-store.js';
import { PostgresNumbers } from '../../cluster/fencing/postgres/view-numbers.js';
import { processId } from '../../cluster/ids/ids.js';
import { GrpcPeers } from '../../cluster/links/grpc/peers.js';
import { ClusterMembership } from '../../cluster/membership/cluster-membership.js';
import type { Role } from '../../cluster/membership/membership.js';
import type { MembershipEvent } from '../../cluster/membership/perspective.js';
import { openRedisMembers } from '../../cluster/membership/redis/member-store.js';
import { hasExited, hostName } from '../../cluster/membership/watchdog/host.js';
import { ClusterNode } from '../../cluster/node/node.js';
import { systemRandom, systemTime } from '../../cluster/time/system.js';

/** What one process of a test cluster is told at its start. */
export interface ProcessSettings {
  readonly name: string;
  readonly cluster: string;
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly roles: readonly Role[];
  readonly seesExits: boolean;
  readonly port: number;
  /** Where peers dial it, if something stands between. */
  readonly advertise?: string;
  readonly config?: Partial<ClusterConfig>;
}

export type CounterKind = ReturnType<typeof durableCounter>;

export interface RunningNode {
  readonly node: ClusterNode;
  readonly kind: CounterKind;
  close(): Promise<void>;
}

/** A real node over a real Redis and PostgreSQL, with the durable counter as its actor kind. */
export async function startNode(
  settings: ProcessSettings,
  report: (event: MembershipEvent) => void,
): Promise<RunningNode> {
  const { cluster, redisUrl, databaseUrl, roles } = settings;
  const config = clusterConfig(settings.config);
  const self = processId(settings.name);
  const database = {
    databaseUrl,
    role: 'troupe_writer',
    statementTimeoutMs: config.statementTimeoutMs,
    connectTimeoutMs: config.connectTimeoutMs,
  };
  const store = await openRedisMembers({ url: redisUrl, cluster, config, random: systemRandom });
  const numbers = new PostgresNumbers({ ...database, cluster });
  const fence = new PostgresFenceStore(postgresCounterTables, database);
  const counter = durableCounter(new GroupCommit(fence, config, systemTime, systemRandom), systemTime);
  const peers = new GrpcPeers(
    {
      self,
      cluster,
      secret: 'a secret of the test',
      host: '127.0.0.1',
      port: settings.port,
      ...(settings.advertise === undefined ? {} : { advertise: settings.advertise }),
    },
    systemRandom,
  );
  const member = {
    process: self,
    address: settings.advertise ?? `127.0.0.1:${settings.port}`,
    weight: 1,
    roles,
    host: settings.seesExits ? hostName() : settings.name,
    pid: process.pid,
  };
  const membership = new ClusterMembership({
    self: member,
    store,
    numbers,
    probe: peers,
    time: systemTime,
    random: systemRandom,
    config,
    hasExited,
    report,
  });
  const node = new ClusterNode({
    kinds: [counter],
    membership,
    transport: peers,
    link: { cluster, secret: 'a secret of the test' },
    config,
    time: systemTime,
    random: systemRandom,
  });
  await node.listen();
  await node.start(new AbortController().signal);
  const close = async (): Promise<void> => {
    await node.stop();
    await Promise.all([store.close(), numbers.close(), fence.close()]);
  };
  return { node, kind: counter, close };
}
