import type { ActorTable } from '../activation/actor-table.js';
import type { ActorEpoch } from '../activation/residents.js';
import type { EndReason, Kind } from '../activation/kind.js';
import type { ResidentActor, TurnLatencies } from '../activation/table-readings.js';
import type { ProcessId, Slot } from '../ids/ids.js';
import type { LinkReading, Links } from '../links/links.js';
import type { Protocols } from '../links/protocol.js';
import type { Membership, Standing } from '../membership/membership.js';
import type { Ring } from '../ring/ring.js';
import type { Receiver } from '../routing/receiver.js';
import type { Router } from '../routing/router.js';
import type { LoopLag, LoopLagReading } from '../time/loop-lag.js';
import type { RingChange } from './ring-history.js';

/** Per kind, so that a description stays small with any number of actors. */
const epochsShownMax = 50;

/**
 * One node's state and its view as plain values, for the cluster endpoint, and for metrics through `measuresOf`. The
 * cost grows with members and actor kinds, not with actors or calls.
 */
export interface NodeDescription {
  readonly process: ProcessId;
  /** Of its program; undefined if it was not stated. Processes that speak no protocol above 2 send neither. */
  readonly version?: string | undefined;
  readonly protocols?: Protocols | undefined;
  readonly standing: Standing;
  /** Since the start of the renewal that was confirmed last; absent without a lease. */
  readonly leaseAgeMs?: number | undefined;
  /** The last changes of the ring, newest last. Nodes of version 0.1 do not send it. */
  readonly ringChanges?: readonly RingChange[];
  readonly view: { readonly number: number; readonly hash: string };
  readonly members: readonly {
    readonly process: ProcessId;
    readonly address: string;
    readonly weight: number;
    readonly slots: number;
  }[];
  /** Actors in memory, by kind. */
  readonly actors: Readonly<Record<string, number>>;
  readonly residents: number;
  /** Actors with a running handler, and actors that are loading. */
  readonly busy: number;
  readonly loading: number;
  /** Calls in this node's mailboxes, and how long the oldest has waited. */
  readonly waiting: number;
  readonly oldestWaitingMs: number;
  /** Calls of this node that currently have no owner. */
  readonly waitingForOwner: number;
  /** Of some durable actors in memory, the most recently used first. */
  readonly epochs: readonly ActorEpoch[];
  readonly turns: TurnLatencies;
  readonly links: {
    readonly open: number;
    readonly inFlight: number;
    /** Links that peers have opened. */
    readonly served: number;
    readonly peers: readonly LinkReading[];
  };
  /** Undefined if it is not measured, as in a simulation. */
  readonly loopLag: LoopLagReading | undefined;
  /** Since the start of the process. */
  readonly counts: NodeCounts;
}

export interface NodeCounts {
  readonly activations: number;
  readonly activationFailures: number;
  readonly fenceRejections: number;
  readonly selfFences: number;
  /** Announced views that could not be fetched at once. */
  readonly missedViews: number;
  /** Refused as overload: a full mailbox or node, or too many loads. */
  readonly shed: number;
  /** Refused as overload: too many bytes queued for a peer. */
  readonly shedByLinks: number;
  /** Answered from memory by request id, or joined to a running call. */
  readonly repeats: number;
  readonly ended: Readonly<Partial<Record<EndReason, number>>>;
  readonly localCalls: number;
  readonly remoteCalls: number;
  /** "moved" answers that this node received, and gave. */
  readonly movedAnswers: number;
  readonly movedGiven: number;
  readonly retries: number;
}

/** The owner of an actor in this node's view, and the actor's state if it is loaded here. */
export interface ActorLocation {
  readonly slot: Slot;
  readonly owner: ProcessId | undefined;
  readonly resident: ResidentActor | undefined;
}

export interface DescribedParts {
  readonly membership: Membership;
  readonly ring: Ring;
  readonly table: ActorTable;
  readonly links: Links;
  readonly router: Router;
  readonly receiver: Receiver;
  readonly kinds: readonly Kind[];
  readonly loopLag: LoopLag | undefined;
  readonly fenced: number;
  readonly missedViews: number;
  readonly ringChanges: readonly RingChange[];
}

export function describeNode(parts: DescribedParts): NodeDescription {
  const { membership, ring, table, links, router } = parts;
  const slots = ring.slotCounts();
  return {
    process: membership.self.process,
    version: membership.self.version,
    protocols: membership.self.protocols,
    standing: membership.standing(),
    leaseAgeMs: finite(membership.leaseAgeMs()),
    ringChanges: parts.ringChanges,
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
    oldestWaitingMs: table.oldestWaitingMs,
    waitingForOwner: router.waitingForOwner,
    epochs: parts.kinds.flatMap((kind) => table.epochsOf(kind.name, epochsShownMax)),
    turns: table.latencies,
    links: { open: links.open, inFlight: links.inFlight, served: links.served, peers: links.readings },
    loopLag: parts.loopLag?.read(),
    counts: {
      ...table.counts,
      ...router.counts,
      movedGiven: parts.receiver.movedGiven,
      shedByLinks: links.shed,
      selfFences: parts.fenced,
      missedViews: parts.missedViews,
    },
  };
}

/** JSON has no infinity. */
function finite(ms: number | undefined): number | undefined {
  return ms !== undefined && Number.isFinite(ms) ? ms : undefined;
}
