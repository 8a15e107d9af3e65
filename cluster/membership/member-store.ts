import type { ProcessId, ViewNumber } from '../ids/ids.js';
import type { Member, View, ViewName } from './membership.js';

/** A lease as its process last renewed it. */
export interface Lease {
  readonly member: Member;
  /**
   * How often the process has renewed, by its own count. Whoever watches it judges its silence by how long
   * this number stood still on the watcher's own clock: neither the store's clock nor a missing key is trusted.
   */
  readonly renewals: number;
  /** How long the confirmations that the process gave still bind it (protocol 2.5). */
  readonly promisedMs: number;
  /** Number of the view that it had adopted: peers that lose the store may go on confirming that one. */
  readonly holds: ViewNumber;
  /** It takes no slots any more, and keeps the lease only until its running turns have ended. */
  readonly leaving: boolean;
}

/**
 * The word that a process left when it gave its lease back: its actors have ended and it does nothing more.
 * A lease that others took away leaves none, since its process may not know of it yet.
 */
export interface Departed {
  readonly process: ProcessId;
  /** How long its confirmations of others still bound it then. */
  readonly promisedMs: number;
}

export interface Snapshot {
  /** Random mark of this filling of the store; new after a flush or failover (protocol 2.2). */
  readonly generation: string;
  /** Since it was made, by the store's clock; 0 where that is not known. */
  readonly generationAgeMs: number;
  readonly leases: readonly Lease[];
  /** Those that left in the last while, and so all that a view of now can still name. */
  readonly departed: readonly Departed[];
  readonly view: View | undefined;
}

/** Read in the same step, so that a renewal is an observation of all others as well. */
export interface Renewal extends Snapshot {
  readonly renewed: boolean;
}

export interface Publication {
  readonly generation: string;
  /**
   * The view that the new one follows: published only while the store holds exactly it (number 0: none at
   * all). Without it the view is brought back: taken if the store holds none or one of a lower number.
   */
  readonly follows: ViewName | undefined;
}

export interface RemovalRequest {
  readonly generation: string;
  readonly process: ProcessId;
  /** As the voice saw it: a renewal since then refutes the voice. */
  readonly renewals: number;
  readonly voice: ProcessId;
  /** How many processes must have asked within `voiceMs`. */
  readonly voices: number;
  readonly voiceMs: number;
  /** Since the last renewal, by the store's clock. It only hastens a removal, it proves nothing. */
  readonly silenceMs: number;
}

export interface RemovalOutcome {
  readonly outcome: 'removed' | 'refuted' | 'more_voices' | 'too_early';
  readonly silentMs: number;
}

/** Where the living are kept (Redis, or memory in a simulation). Every answer may be lost or late. */
export interface MemberStore {
  /**
   * Makes or renews a lease. Refused when the store has none under a generation that the process knows to
   * have renewed under: then somebody removed it. Leases never run out by themselves.
   */
  renew(lease: Lease, knownGeneration: string | undefined): Promise<Renewal>;
  snapshot(): Promise<Snapshot>;
  publish(view: View, publication: Publication): Promise<boolean>;
  /** One voice for taking away a lease; the step that has voices and silence enough takes it away. */
  remove(request: RemovalRequest): Promise<RemovalOutcome>;
  /** The process gives its own lease back and leaves its word, also when others had taken the lease away. */
  release(departed: Departed): Promise<void>;
  /** Called at a hint that something changed; hints may be lost. Returns what ends it. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

/** View numbers come from the durable store, so that a flushed member store cannot repeat one. */
export interface ViewNumbers {
  /** A number never given before and above `atLeast`. */
  next(atLeast: ViewNumber): Promise<ViewNumber>;
  /**
   * The same, and remembered as the number under which somebody is about to remove members that may be
   * confirming each other. They read it, and stop in time.
   */
  seize(atLeast: ViewNumber): Promise<ViewNumber>;
  /** The highest number ever seized; 0 if none. */
  seized(): Promise<ViewNumber>;
}
