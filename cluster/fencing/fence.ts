import type { ActivationId, ActorAddress, Epoch, ProcessId, Revision, Slot } from '../ids/ids.js';

/**
 * The right to write for one actor. Epoch, activation id and revision are compared together; any mismatch ends the
 * activation. Only the activation that holds the id raises the revision, so a higher revision under the same id
 * proves that a write of unknown outcome was committed.
 */
export interface Fence {
  readonly address: ActorAddress;
  readonly epoch: Epoch;
  readonly activationId: ActivationId;
  readonly revision: Revision;
}

export interface ActivateRequest<Load> {
  readonly address: ActorAddress;
  readonly slot: Slot;
  readonly activationId: ActivationId;
  /**
   * Processes whose busy stamp may be ignored: surely gone, or this process itself if it runs no activation of the
   * actor. A stamp past its deadline in the store's time is ignored anyway.
   */
  readonly ignoreStampsOf: (process: ProcessId) => boolean;
  /** What to load, in the store's own form. It is read in a later snapshot than the one that raised the epoch. */
  readonly load: Load;
}

export type Activated<Loaded> =
  | { readonly outcome: 'activated'; readonly fence: Fence; readonly loaded: Loaded }
  /** The epoch was not raised: a turn runs in `process` for at most `remainingMs` more. */
  | { readonly outcome: 'busy'; readonly process: ProcessId; readonly remainingMs: number };

/** Set by the claim of a turn and cleared by its last write (protocol 4.1). */
export type BusyStamp =
  | { readonly set: 'busy'; readonly process: ProcessId; readonly forMs: number }
  | { readonly set: 'free' };

export interface FencedWrite<Write> {
  /** The fence before this write; success raises the revision by one. */
  readonly fence: Fence;
  readonly stamp: BusyStamp | undefined;
  /** What to write, in the store's own form. Row ids are fixed before the first attempt. */
  readonly write: Write | undefined;
}

export type WriteOutcome<Result> =
  | { readonly outcome: 'written'; readonly result: Result | undefined }
  /** The row belongs to another activation: nothing was written now. */
  | { readonly outcome: 'fenced' }
  /**
   * Another transaction held the write up, or its outcome is unknown: submit it again. Other writes of the batch are
   * unaffected.
   */
  | { readonly outcome: 'held_up'; readonly error: Error }
  /**
   * The store refuses this write whenever it is submitted: it violates a constraint, or the store cannot hold it. Other
   * writes of the batch are unaffected.
   */
  | { readonly outcome: 'rejected'; readonly error: Error };

/**
 * Protocol 1. Every promise must settle within the statement time-out. Implemented over PostgreSQL and, for
 * simulation, in memory; both pass one contract suite.
 */
export interface FenceStore<Load, Loaded, Write, Result> {
  activate(request: ActivateRequest<Load>): Promise<Activated<Loaded>>;
  /**
   * One group commit with at most one write per actor; outcomes are in order. Rejects only if the outcome of the
   * whole batch is unknown or the store is unreachable. The same batch may then be submitted again: a write that it
   * already committed answers `written` with `result` undefined.
   */
  write(batch: readonly FencedWrite<Write>[]): Promise<readonly WriteOutcome<Result>[]>;
  /**
   * Present if the writes of one actor may commit or fail together: writes that are requested during an earlier write
   * are then merged into one. Where both set the same row, the later write wins. Each is written by itself if the store
   * refuses what they were merged into.
   */
  readonly combine?: ((earlier: Write, later: Write) => Write) | undefined;
  /** About the size of a write in bytes, for kinds with large ones: a batch is closed early at `writeBatchBytesMax`. */
  readonly bytesOf?: ((write: Write) => number) | undefined;
}
