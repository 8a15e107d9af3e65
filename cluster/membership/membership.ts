import type { ProcessId, ViewNumber } from '../ids/ids.js';
import type { Protocols } from '../links/protocol.js';

/** `worker` holds slots and counts in majorities; `edge` only calls. A process may have both roles. */
export type Role = 'edge' | 'worker';

export interface Member {
  readonly process: ProcessId;
  /** host:port of the link listener. It belongs to this one process, never to a load balancer. */
  readonly address: string;
  /** Share of slots relative to the other members. Fixed for the life of the process. */
  readonly weight: number;
  readonly roles: readonly Role[];
  /** Identifies the machine and its process table: a peer with the same value may see the process exit. */
  readonly host: string;
  /** Its process id in that table. */
  readonly pid: number;
  /** The version of its program. A view that an older process made does not hold it. */
  readonly version?: string;
  readonly protocols?: Protocols;
}

/** Number and hash together identify a view; equal numbers with unequal hashes are both void (protocol 2.1). */
export interface ViewName {
  readonly number: ViewNumber;
  /** Hash of the sorted process ids of the workers, never of addresses. */
  readonly hash: string;
}

export interface View extends ViewName {
  /** Workers, sorted by process id. Edge-only processes are not members. */
  readonly members: readonly Member[];
}

export type Standing = 'joining' | 'member' | 'confirmed_by_peers' | 'fenced' | 'left';

/** Why a process is missing from a view: it left in order, refused links, kept silent, or its exit was seen. */
export type LeftBecause = 'left' | 'refused' | 'silent' | 'exited';

export interface KnownLeavers {
  /** Workers that left the view and keep their lease until their running turns have ended. */
  members(): readonly Member[];
  /** For operators; no rule depends on it. Undefined if this process does not know it: another one removed the lease. */
  why(process: ProcessId): LeftBecause | undefined;
}

/** Membership as the rest of the runtime uses it. Reads are synchronous, because they run before each effect. */
export interface Membership {
  readonly self: Member;
  readonly leavers: KnownLeavers;
  view(): View;
  standing(): Standing;
  /** Age of the right to act; undefined or infinite without a lease. */
  leaseAgeMs(): number | undefined;
  /** Called once the new view can be read. Returns the unsubscribe function. */
  onView(listener: (view: View) => void): () => void;
  /** Called once, synchronously, when the lease is lost; actors must end before it returns. */
  onFenced(listener: () => void): () => void;
  /** Whether new work may start (first half of the lease, by both clocks). */
  mayAdmit(): boolean;
  /** Whether an outside effect or an outgoing frame may happen right now. */
  mayAct(): boolean;
  /** Lease and margin have passed since the process was last seen alive, or its exit was seen (protocol 2.4). */
  surelyGone(process: ProcessId): boolean;
  whenSurelyGone(process: ProcessId, signal: AbortSignal): Promise<void>;
  /** The process's address refused a link: one vote for its early removal. */
  reportRefused(process: ProcessId): void;
  /** A parent or a peer on the same host saw the process exit. */
  reportExited(process: ProcessId): void;
  /**
   * For a frame that names a newer view than this node has. Resolves once the node has caught up; `signal` aborts it.
   */
  catchUp(name: ViewName, signal: AbortSignal): Promise<void>;
  start(signal: AbortSignal): Promise<void>;
  /** Leaves the view at once but keeps the lease: others take over idle actors. */
  beginLeave(): Promise<void>;
  /** Releases the lease. The listener must stay open until this resolves. */
  leave(): Promise<void>;
}
