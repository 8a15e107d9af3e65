import type { Kind } from '../../cluster/activation/kind.js';
import type { ClusterNode } from '../../cluster/node/node.js';
import type { StoreFaults } from '../../cluster/simulation/fence-store.js';
import type { SimulatedHost } from '../../cluster/simulation/host.js';
import type { Transit } from '../../cluster/simulation/member-store.js';

/** Actors of the platform on simulated nodes, with rows of their own in the simulated store. */
export interface Guest {
  join(way: GuestWay): GuestNode;
  /** The state that a lagging replica would hold; calling the result fails over to it. */
  copy(): () => void;
}

/** A process and its access to the store. */
export interface GuestWay {
  readonly host: SimulatedHost;
  readonly faults: StoreFaults;
  readonly transit: Transit;
}

export interface GuestNode {
  readonly kinds: readonly Kind[];
  started(node: ClusterNode): void;
  /** Steps of an orderly stop: before the actors end, and after. */
  stopping(node: ClusterNode): Promise<void>;
  stopped(): Promise<void>;
}
