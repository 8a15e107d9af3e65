import type { ProcessId, ViewNumber } from '../ids/ids.js';

/** `worker` holds slots and counts in majorities; `edge` only calls. A process may be both. */
export type Role = 'edge' | 'worker';

export interface Member {
  readonly process: ProcessId;
  /** host:port of the link listener; belongs to this one process and to no load balancer. */
  readonly address: string;
  /** Share of slots in proportion to the other members. Fixed for the life of the process. */
  readonly weight: number;
  readonly roles: readonly Role[];
  /** Names the machine and its process table: a peer with the same one may see the process exit. */
  readonly host: string;
  /** Its number in that table. */
  readonly pid: number;
}

/** Number and hash together name a view; equal numbers with unequal hashes are both void (protocol 2.1). */
export interface ViewName {
  readonly number: ViewNumber;
  /** Over the sorted process ids of the workers, never addresses. */
  readonly hash: string;
}

export interface View extends ViewName {
  /** Workers, sorted by process id. Edge-only processes are no members. */
  readonly members: readonly Member[];
}

export type Standing = 'joining' | 'member' | 'confirmed_by_peers' | 'fenced' | 'left';

/** What the rest of the runtime asks of membership. All reads are synchronous: they stand before each effect. */
export interface Membership {
  readonly self: Member;
  view(): View;
  standing(): Standing;
  /** Called after the new view can be read; returns what ends the subscription. */
  onView(listener: (view: View) => void): () => void;
  /** Called once, synchronously, when the lease is found to be lost; actors must end before it returns. */
  onFenced(listener: () => void): () => void;
  /** Whether new work may begin (first half of the lease, by both clocks). */
  mayAdmit(): boolean;
  /** Whether an outside effect or an outgoing frame may happen right now. */
  mayAct(): boolean;
  /** Lease and margin over since it was last seen alive, or its exit was seen (protocol 2.4). */
  surelyGone(process: ProcessId): boolean;
  whenSurelyGone(process: ProcessId, signal: AbortSignal): Promise<void>;
  /** A link was refused by the process's address: one voice for its early removal. */
  reportRefused(process: ProcessId): void;
  /** A parent or a peer on the same host saw it exit. */
  reportExited(process: ProcessId): void;
  /** A frame named a view that this node does not have; resolves when it has caught up or `signal` ends. */
  catchUp(name: ViewName, signal: AbortSignal): Promise<void>;
  start(signal: AbortSignal): Promise<void>;
  /** Leaves the view at once but keeps the lease: others take over what is idle. */
  beginLeave(): Promise<void>;
  /** Gives the lease back. The listener must stay open until this has resolved. */
  leave(): Promise<void>;
}
