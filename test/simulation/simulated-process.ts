import type { ActorKindOf } from '../../cluster/activation/kind.js';
import type { CounterService } from '../../cluster/example/counter.js';
import type { Membership } from '../../cluster/membership/membership.js';
import type { GroupCommit } from '../../cluster/fencing/group-commit.js';
import type { ClusterNode } from '../../cluster/node/node.js';
import type { DurableTimers } from '../../cluster/recovery/durable-timers.js';
import type { Recovery } from '../../cluster/recovery/recovery.js';
import type { SimulatedHost } from '../../cluster/simulation/host.js';
import type { WorkRow } from './durable-rows.js';
import type { GuestNode } from './guest.js';

/** A stream as its reader's process holds it. */
export interface UnreadStream {
  readonly buffered: number;
  readonly bufferedCost: number;
}

export interface SimulatedProcess {
  readonly host: SimulatedHost;
  readonly node: ClusterNode;
  readonly membership: Membership;
  readonly ledger: ActorKindOf<CounterService>;
  readonly worker: ActorKindOf<CounterService>;
  readonly visitors: ActorKindOf<CounterService>;
  readonly grants: ActorKindOf<CounterService>;
  readonly recovery: Recovery<WorkRow>;
  readonly timers: DurableTimers;
  readonly commits: Pick<GroupCommit<never, never, never, never>, 'waiting'>;
  /** The streams that it reads. */
  readonly streams: Set<UnreadStream>;
  readonly guest: GuestNode | undefined;
}
