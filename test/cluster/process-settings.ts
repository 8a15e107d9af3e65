import { clusterConfig, type ClusterConfig } from '../../cluster/config.js';
import { durableCounter } from '../../cluster/example/counter.js';
import { postgresCounterTables } from '../../cluster/example/postgres-counter.js';
import { GroupCommit } from '../../cluster/fencing/group-commit.js';
import { PostgresFenceStore } from '../../cluster/fencing/postgres/fence-store.js';
import type { Role } from '../../cluster/membership/membership.js';
import type { MembershipEvent } from '../../cluster/membership/perspective.js';
import { openClusteredNode } from '../../cluster/node/clustered-node.js';
import type { ClusterNode } from '../../cluster/node/node.js';
import { systemRandom, systemTime } from '../../cluster/time/system.js';

/** The start settings of one process of a test cluster. */
export interface ProcessSettings {
  readonly name: string;
  readonly cluster: string;
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly roles: readonly Role[];
  readonly seesExits: boolean;
  readonly port: number;
  /** The address that peers dial, if a proxy is in between. */
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
  onFenced: () => void,
): Promise<RunningNode> {
  const config = clusterConfig(settings.config);
  const fence = new PostgresFenceStore(postgresCounterTables, {
    databaseUrl: settings.databaseUrl,
    role: 'troupe_writer',
    statementTimeoutMs: config.statementTimeoutMs,
    // A database that starts a process for each connection takes its time on a machine that does other work.
    connectTimeoutMs: config.statementTimeoutMs,
  });
  const kind = durableCounter(new GroupCommit(fence, config, systemTime, systemRandom), systemTime);
  const { node, stop } = await openClusteredNode({
    ...settings,
    kinds: [kind],
    secret: 'a secret of the test',
    databaseRole: 'troupe_writer',
    host: '127.0.0.1',
    report,
    onFenced,
  });
  const close = async (): Promise<void> => {
    await stop();
    await fence.close();
  };
  return { node, kind, close };
}
