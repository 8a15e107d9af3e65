import { clusterConfig, type ClusterConfig } from '../../cluster/config.js';
import type { Plant } from './plants.js';
import { observedBounds, type TightQueues } from './queues.js';

/** What a simulated cluster runs with, and the bounds of queues by which it is checked. */
export function worldConfig(
  plants: ReadonlySet<Plant>,
  tight: TightQueues,
): { readonly config: ClusterConfig; readonly stated: ClusterConfig } {
  const timing = {
    drainMs: 8_000,
    callDeadlineMs: 9_000,
    idleMs: 4_000,
    recoverySweepMs: 6_000,
    ...(plants.has('answers_forgotten') ? { answerMemoryMs: 1 } : {}),
  };
  const observed = plants.has('bound_ignored') ? observedBounds(tight) : tight.bounds;
  return {
    config: clusterConfig({ ...timing, ...observed }),
    stated: clusterConfig({ ...timing, ...tight.bounds }),
  };
}
