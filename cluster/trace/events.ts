import type { ProcessId } from '../ids/ids.js';
import type { Because } from '../membership/gone-processes.js';
import type { Instant } from '../membership/lease-clock.js';

/**
 * The steps of the protocol that a process takes, in one place. What is sent to a store or a peer is recorded before it
 * is sent, and what is received after it was received, so that a cause is never recorded after its effect.
 */
export type ProtocolEvent =
  /** A renewal is sent. It states the view that its sender holds and how long promises bind it. */
  | {
      readonly event: 'renewing';
      readonly renewals: number;
      readonly promisedMs: number;
      readonly holds: number;
      readonly leaving: boolean;
    }
  /** A renewal was executed and counts: the right to act begins at its start. */
  | { readonly event: 'renew'; readonly generation: string | undefined; readonly from: Instant }
  /** A peer's question is answered with a promise for one lease. */
  | { readonly event: 'promise'; readonly to: ProcessId; readonly view: number; readonly forMs: number }
  /** A peer's promise arrived. */
  | { readonly event: 'promised'; readonly by: ProcessId }
  /** The seized number was read. */
  | { readonly event: 'seized_read'; readonly number: number }
  /** Enough promises: the right to act begins at the start of the questions. */
  | { readonly event: 'confirm'; readonly view: number; readonly from: Instant }
  /** A number is about to be seized, above this one. */
  | { readonly event: 'seize'; readonly above: number }
  /** A view is sent to Redis: one that follows another, or the highest that a holder restores. */
  | {
      readonly event: 'publish';
      readonly view: number;
      readonly members: readonly ProcessId[];
      readonly follows: number | undefined;
    }
  | { readonly event: 'adopt'; readonly view: number; readonly members: readonly ProcessId[] }
  /** A process is held for surely gone; `seen` are the renewals that the observer had seen then, and
   * `unbound` the processes that had departed and whose promises had expired. */
  | {
      readonly event: 'gone';
      readonly peer: ProcessId;
      readonly because: Because;
      /** It had surely promised nothing when it ended. */
      readonly wasFree: boolean;
      readonly generation: string | undefined;
      readonly seized: number;
      readonly seen: Readonly<Record<ProcessId, number>>;
      readonly unbound: readonly ProcessId[];
      /** Its lease is still there; one that others removed may have been renewed while the observer did not look. */
      readonly present: boolean;
    }
  /** Lease and actors are given up: lost, or in order. */
  | { readonly event: 'fence'; readonly reason: string }
  | { readonly event: 'release'; readonly promisedMs: number }
  /** An activation raised the epoch, over a turn that these processes had stamped. */
  | {
      readonly event: 'acquire';
      readonly actor: string;
      readonly epoch: number;
      readonly revision: number;
      readonly over: readonly ProcessId[];
    }
  /** A write was committed, or refused by the fence. */
  | { readonly event: 'write'; readonly actor: string; readonly epoch: number; readonly revision: number }
  | { readonly event: 'refused'; readonly actor: string; readonly epoch: number }
  | { readonly event: 'effect'; readonly actor: string; readonly epoch: number }
  /** An activation has ended: from here on another may act for the actor. */
  | { readonly event: 'hand_over'; readonly actor: string; readonly epoch: number };

/** An event with its process and that process's clocks. */
export type Traced = ProtocolEvent & { readonly process: ProcessId; readonly at: Instant };

/** Receives the events of one process. Whoever records none hands none in. */
export interface ProtocolTrace {
  record(event: ProtocolEvent): void;
}
