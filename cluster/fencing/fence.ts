import type { ActivationId, ActorAddress, Epoch, ProcessId, Revision, Slot } from '../ids/ids.js';

/**
 * The right to write for one actor. Epoch, activation id and revision are compared together; any mismatch
 * ends the activation. Only the activation that holds the id raises the revision, so a row that shows a
 * higher revision under the same id proves that a write of unknown outcome was made.
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
   * Processes whose busy stamp may be overridden: surely gone, or this process itself when it runs no
   * activation of the actor. A stamp past its deadline in the store's time counts for nothing.
   */
  readonly ignoreStampsOf: (process: ProcessId) => boolean;
  /** What to load, in the store's own language; read in a snapshot later than the raised epoch. */
  readonly load: Load;
}

export type Activated<Loaded> =
  | { readonly outcome: 'activated'; readonly fence: Fence; readonly loaded: Loaded }
  /** The epoch was not raised: a turn runs in `process` for at most `remainingMs` more. */
  | { readonly outcome: 'busy'; readonly process: ProcessId; readonly remainingMs: number };

/** Set by the claim of a turn and taken away by its last write (protocol 4.1). */
export type BusyStamp =
  | { readonly set: 'busy'; readonly process: ProcessId; readonly forMs: number }
  | { readonly set: 'free' };

export interface FencedWrite<Write> {
  /** As it stands before this write; success raises the revision by one. */
  readonly fence: Fence;
  readonly stamp: BusyStamp | undefined;
  /** What to write, in the store's own language; row ids are fixed before the first attempt. */
  readonly write: Write | undefined;
}

export type WriteOutcome<Result> =
  | { readonly outcome: 'written'; readonly result: Result | undefined }
  /** The row names another activation: nothing of this write was made now. */
  | { readonly outcome: 'fenced' }
  /** The write broke a rule of its own (a constraint, a check); its neighbours were not touched. */
  | { readonly outcome: 'rejected'; readonly error: Error };

/** Protocol 1; every promise must settle within the statement time-out. Implemented over PostgreSQL, and in memory for simulation; both pass one contract suite. */
export interface FenceStore<Load, Loaded, Write, Result> {
  activate(request: ActivateRequest<Load>): Promise<Activated<Loaded>>;
  /**
   * One group commit, at most one write per actor. Outcomes in order. Rejects only when the outcome of the
   * whole batch is unknown or the store is away; the same batch may then be handed in again: what was
   * already written by it answers `written`, with `result` undefined.
   */
  write(batch: readonly FencedWrite<Write>[]): Promise<readonly WriteOutcome<Result>[]>;
  /**
   * Where writes of one actor may stand and fall together: what it asked for while an earlier write was under way, or
   * at one stroke, is made as one write. What the later says of a row goes over what the earlier said.
   */
  readonly combine?: ((earlier: Write, later: Write) => Write) | undefined;
}
