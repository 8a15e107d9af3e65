import type { ClusterConfig } from '../config.js';
import type { ProcessId, ViewNumber } from '../ids/ids.js';
import type { Random, Time } from '../time/time.js';
import type { ProtocolTrace } from '../trace/events.js';
import type { GoneProcesses } from './gone-processes.js';
import type { MemberStore, ViewNumbers } from './member-store.js';
import type { Member, View } from './membership.js';
import type { Observer } from './observer.js';
import type { PeerProbe } from './peer-probe.js';
import type { Opposition } from './quorum.js';

/** Membership events for logs and counters. */
export type MembershipEvent =
  | { readonly event: 'view'; readonly view: View }
  | { readonly event: 'fenced'; readonly reason: string }
  /** `isFirst`: of an outage, which `store_back` ends. */
  | { readonly event: 'store_failed'; readonly error: unknown; readonly isFirst?: boolean }
  | { readonly event: 'store_back'; readonly awayMs: number }
  | { readonly event: 'confirmed'; readonly view: ViewNumber }
  | { readonly event: 'not_confirmed'; readonly view: ViewNumber }
  | {
      readonly event: 'removed';
      readonly process: ProcessId;
      readonly because: 'refused' | 'silent' | 'exited';
    }
  | { readonly event: 'opposed'; readonly by: readonly ProcessId[] }
  | { readonly event: 'seized'; readonly number: ViewNumber }
  | { readonly event: 'void_view'; readonly number: ViewNumber }
  | { readonly event: 'outdated_store'; readonly generation: string }
  | { readonly event: 'new_generation'; readonly generation: string };

export interface MembershipParts {
  readonly self: Member;
  readonly store: MemberStore;
  readonly numbers: ViewNumbers;
  readonly probe: PeerProbe;
  readonly time: Time;
  readonly random: Random;
  readonly config: ClusterConfig;
  /** Whether a process of this host is known to have ended; never true by mistake. */
  readonly hasExited?: (member: Member) => boolean;
  readonly report?: (event: MembershipEvent) => void;
  /** Receives the steps of the protocol, for a checker (`cluster/trace`). */
  readonly trace?: ProtocolTrace;
}

/** The shared state and actions that the parts of one membership use. */
export interface Perspective extends MembershipParts {
  readonly observer: Observer;
  readonly gone: GoneProcesses;
  /** The view that this process follows. */
  view(): View;
  /** The newest view known here that named the process. */
  lastViewWith(process: ProcessId): View | undefined;
  /** The view in the store, as last read. */
  storeView(): View | undefined;
  /**
   * This process is a worker with a lease, neither leaving nor fenced, and reaches the store: it may change the view.
   */
  mayChange(): boolean;
  /** A promise of this process binds it to a member of the first view that is missing from the other. */
  isBound(before: View, after: View): boolean;
  /** What blocks a change of view. */
  opposition(): Opposition;
  /** The highest number known to be seized. */
  seized(): ViewNumber;
  /** How long its listener is known to be gone; undefined if it is not. */
  refusedMs(process: ProcessId): number | undefined;
  adopt(view: View): void;
  /** Reads the store now; false if that failed. */
  poll(): Promise<boolean>;
  emit(event: MembershipEvent): void;
}

/** Lease and margin: how long a successor waits. */
export function waitMs(config: ClusterConfig): number {
  return config.leaseMs + config.leaseMarginMs;
}
