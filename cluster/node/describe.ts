import type { ActorTable } from '../activation/actor-table.js';
import type { EndReason, Kind } from '../activation/kind.js';
import type { ProcessId } from '../ids/ids.js';
import type { Links } from '../links/links.js';
import type { Membership, Standing } from '../membership/membership.js';
import type { Ring } from '../ring/ring.js';
import type { Router } from '../routing/router.js';

/** What one node knows of itself and its view; plain values, for metrics and the cluster endpoint. */
export interface NodeDescription {
  readonly process: ProcessId;
  readonly standing: Standing;
  readonly view: { readonly number: number; readonly hash: string };
  readonly members: readonly {
    readonly process: ProcessId;
    readonly address: string;
    readonly weight: number;
    readonly slots: number;
  }[];
  readonly actors: Readonly<Record<string, number>>;
  readonly residents: number;
  readonly busy: number;
  readonly loading: number;
  readonly waiting: number;
  readonly waitingForOwner: number;
  readonly links: { readonly open: number; readonly inFlight: number };
  readonly counts: {
    readonly activations: number;
    readonly activationFailures: number;
    readonly fenceRejections: number;
    readonly selfFences: number;
    readonly missedViews: number;
    readonly shed: number;
    readonly repeats: number;
    readonly ended: Readonly<Partial<Record<EndReason, number>>>;
    readonly localCalls: number;
    readonly remoteCalls: number;
    readonly movedAnswers: number;
    readonly retries: number;
  };
}

export interface DescribedParts {
  readonly membership: Membership;
  readonly ring: Ring;
  readonly table: ActorTable;
  readonly links: Links;
  readonly router: Router;
  readonly kinds: readonly Kind[];
  readonly fenced: number;
  readonly missedViews: number;
}

export function describeNode(parts: DescribedParts): NodeDescription {
  const { membership, ring, table, links, router } = parts;
  const slots = ring.slotCounts();
  return {
    process: membership.self.process,
    standing: membership.standing(),
    view: { number: ring.view.number, hash: ring.view.hash },
    members: ring.view.members.map(({ process, address, weight }, index) => ({
      process,
      address,
      weight,
      slots: slots[index] ?? 0,
    })),
    actors: Object.fromEntries(parts.kinds.map((kind) => [kind.name, table.residentsOf(kind.name)])),
    residents: table.residents,
    busy: table.busy,
    loading: table.loading,
    waiting: table.waiting,
    waitingForOwner: router.waitingForOwner,
    links: { open: links.open, inFlight: links.inFlight },
    counts: { ...table.counts, selfFences: parts.fenced, missedViews: parts.missedViews, ...router.counts },
  };
}
