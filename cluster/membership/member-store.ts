import type { ProcessId, ViewNumber } from '../ids/ids.js';
import type { Member, View, ViewName } from './membership.js';

/** A lease as its process last renewed it. */
export interface Lease {
  readonly member: Member;
  /**
   * How often the process has renewed, by its own count. An observer measures silence by how long this number stays
   * unchanged on the observer's own clock: neither the store's clock nor a missing key is trusted.
   */
  readonly renewals: number;
  /** How long the confirmations that the process gave still bind it (protocol 2.5). */
  readonly promisedMs: number;
  /** Number of the view that it had adopted. Peers that lose the store may go on confirming that view. */
  readonly holds: ViewNumber;
  /** It takes no more slots, and keeps the lease only until its running turns have ended. */
  readonly leaving: boolean;
}

/** A lease as the store holds it. */
export interface StoredLease extends Lease {
  /**
   * At most this long lay between sending and executing the last renewal, by the store's clock. What the lease says was
   * true when it was sent.
   */
  readonly lateMs: number;
}

/**
 * The record that a process leaves when it releases its lease: its actors have ended and it does nothing more. A
 * lease that others remove leaves no record, because its process may not know of it yet.
 */
export interface Departed {
  readonly process: ProcessId;
  /** How long its confirmations of others still bound it at that time. */
  readonly promisedMs: number;
}

export interface Snapshot {
  /** Random mark of the content of one server; new after a flush, a restart or a failover (protocol 2.2). */
  readonly generation: string;
  /** Age of the mark by the store's clock; 0 if unknown. */
  readonly generationAgeMs: number;
  readonly leases: readonly StoredLease[];
  /** Processes that left recently, which includes all that a current view can still name. */
  readonly departed: readonly Departed[];
  readonly view: View | undefined;
}

/** The snapshot is read in the same step, so a renewal also observes all other processes. */
export interface Renewal extends Snapshot {
  readonly renewed: boolean;
  /** The store executed it longer after its sending than its sender waits: nothing changed, and it may be repeated. */
  readonly late: boolean;
}

export interface Publication {
  readonly generation: string;
  /**
   * The view that the new one follows: published only while the store holds exactly that view (number 0: none).
   * Undefined restores a view: accepted if the store holds none or one with a lower number.
   */
  readonly follows: ViewName | undefined;
}

export interface RemovalRequest {
  readonly generation: string;
  readonly process: ProcessId;
  /** As the voter saw it: a renewal since then refutes the vote. */
  readonly renewals: number;
  readonly voter: ProcessId;
  /** How many processes must have voted within `voteMs`. */
  readonly votesNeeded: number;
  readonly voteMs: number;
  /** Required time since the last renewal, by the store's clock. It only speeds up a removal; it proves nothing. */
  readonly silenceMs: number;
}

export interface RemovalOutcome {
  readonly outcome: 'removed' | 'refuted' | 'more_votes' | 'too_early' | 'late';
  readonly silentMs: number;
}

/**
 * Holds the leases and the view (Redis, or memory in a simulation). Every answer may be lost or late. Each step that
 * changes leases or the view carries the store's time at its sending; the store refuses it after `memberStoreTimeoutMs`,
 * when its sender has given up: what the step says or rests on may no longer hold. A release stays true and is never late.
 */
export interface MemberStore {
  /**
   * Creates or renews a lease. Refused if the store has none under a generation in which the process has renewed:
   * other processes then removed it. Leases never expire in the store. If the generation is `replaced`, the store
   * first makes a new one.
   */
  renew(lease: Lease, knownGeneration: string | undefined, replaced?: string): Promise<Renewal>;
  snapshot(): Promise<Snapshot>;
  publish(view: View, publication: Publication): Promise<boolean>;
  /** One vote to remove a lease; the step that completes votes and silence removes it. */
  remove(request: RemovalRequest): Promise<RemovalOutcome>;
  /** The process releases its own lease and leaves a departure record, even if others had removed the lease. */
  release(departed: Departed): Promise<void>;
  /** Called on a hint that something changed; hints may be lost. Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
  /** Connects again: the server that answers is no longer the one that all processes use. */
  reconnect(): void;
  close(): Promise<void>;
}

/**
 * View numbers come from the durable store, so that a flushed member store cannot repeat one. It also names the
 * generations of the member store in order: if some processes still use an old master of Redis while the others use the
 * promoted replica, only renewals in the newest count.
 */
export interface ViewNumbers {
  /** A number above `atLeast` that was never given before. */
  next(atLeast: ViewNumber): Promise<ViewNumber>;
  /**
   * The same, but also stored as a seized number: a process is about to remove members that may be confirming each
   * other. Confirming processes read it, and stop in time.
   */
  seize(atLeast: ViewNumber): Promise<ViewNumber>;
  /** The highest number ever seized; 0 if none. */
  seized(): Promise<ViewNumber>;
  /** The generation that was named last; undefined if none was. `used` is the one in which the process renews. */
  newestGeneration(used: string | undefined): Promise<NewestGeneration | undefined>;
  /** Names a generation as the newest, unless it was named before; returns the newest. */
  nameGeneration(generation: string): Promise<NewestGeneration | undefined>;
}

export interface NewestGeneration {
  readonly generation: string;
  /** Since a running process last renewed in it, by the durable store's clock. */
  readonly unusedMs: number;
}
