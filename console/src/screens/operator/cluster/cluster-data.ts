import { useQuery } from '@tanstack/react-query';
import type { paths } from '#api/openapi';
import { take } from '../../../api/client';
import type { Liveness } from '../../../api/realtime';
import { operatorApi, operatorKey } from '../operator-session';

export type Cluster =
  paths['/api/v1/cluster']['get']['responses'][200]['content']['application/json']['data'];
export type ClusterNode = Cluster['nodes'][number];
export type RingChange = Cluster['changes'][number];

/** A change of view takes some seconds; a node that is drained empties within tens of seconds. */
const readEveryMs = 1_000;

/**
 * The cluster as one node describes it, read again and again. What was read last stays on screen while no node answers,
 * and `liveness` says so.
 */
export function useCluster() {
  const query = useQuery({
    queryKey: operatorKey('cluster'),
    queryFn: ({ signal }) => take(operatorApi.GET('/api/v1/cluster', { signal })),
    select: ({ data }) => whole(data),
    refetchInterval: readEveryMs,
    // The next reading is the retry.
    retry: false,
    staleTime: 0,
  });
  const liveness: Liveness = query.isError ? 'connecting' : 'live';
  return { query, liveness };
}

type Reported = Omit<Cluster, 'nodes' | 'leaving' | 'changes'> &
  Partial<Pick<Cluster, 'leaving' | 'changes'>> & {
    readonly nodes: readonly (Omit<ClusterNode, 'lease_age_ms' | 'loop_lag'> &
      Partial<Pick<ClusterNode, 'lease_age_ms' | 'loop_lag'>>)[];
  };

/** During a rolling upgrade a node of version 0.1 may answer, which does not tell all of it. */
function whole({ nodes, leaving = [], changes = [], ...rest }: Reported): Cluster {
  const told = nodes.map(({ lease_age_ms = null, loop_lag = null, ...node }) => ({
    ...node,
    lease_age_ms,
    loop_lag,
  }));
  return { ...rest, nodes: told, leaving, changes };
}

export const partColours = [1, 2, 3, 4, 5, 6].map((part) => `var(--part-${part})`);
export const partColour = (index: number): string =>
  partColours[index % partColours.length] ?? 'var(--muted)';

/** Nodes of the ring in its order, then those that leave. */
export const nodesOf = ({ nodes, leaving }: Cluster): readonly ClusterNode[] => [...nodes, ...leaving];

/** `troupe.actors.v1.SessionService`: the last word tells what it is. */
export const kindName = (kind: string): string => (kind.split('.').at(-1) ?? kind).replace(/Service$/, '');

/** `node-1-8c2f1e…`: the start tells people which machine it is, the end one start of it from another. */
export const shortName = (process: string): string =>
  process.length > 30 ? `${process.slice(0, 17)}…${process.slice(-8)}` : process;
