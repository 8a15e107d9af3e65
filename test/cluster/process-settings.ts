import { appendFileSync } from 'node:fs';
import { clusterConfig, type ClusterConfig } from '../../cluster/config.js';
import { durableCounter } from '../../cluster/example/counter.js';
import { postgresCounterTables } from '../../cluster/example/postgres-counter.js';
import { GroupCommit } from '../../cluster/fencing/group-commit.js';
import { PostgresFenceStore } from '../../cluster/fencing/postgres/fence-store.js';
import type { Role } from '../../cluster/membership/membership.js';
import type { MembershipEvent } from '../../cluster/membership/perspective.js';
import { freshProcessId, openClusteredNode } from '../../cluster/node/clustered-node.js';
import type { ClusterNode } from '../../cluster/node/node.js';
import { systemRandom, systemTime } from '../../cluster/time/system.js';
import { recorder } from '../../cluster/trace/recorder.js';
import { tracedFences } from '../../cluster/trace/traced-fences.js';
import { databaseConnectMs } from '../support/database/database.js';

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
  /** The file to which it writes each step of the protocol before it goes on. */
  readonly tracePath?: string;
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
    connectTimeoutMs: databaseConnectMs,
    time: systemTime,
  });
  const process = freshProcessId(settings.name);
  const { tracePath } = settings;
  const trace =
    tracePath === undefined
      ? undefined
      : recorder(process, systemTime, (step) => appendFileSync(tracePath, `${JSON.stringify(step)}\n`));
  const fences = trace === undefined ? fence : tracedFences(fence, process, trace);
  const kind = durableCounter(new GroupCommit(fences, config, systemTime, systemRandom), systemTime);
  const { node, stop } = await openClusteredNode({
    ...settings,
    process,
    ...(trace === undefined ? {} : { trace }),
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
