import type { ActorAddress, ActorKind, Epoch, ProcessId, Slot } from '../ids/ids.js';
import type { Call } from './call.js';

/** What the actor table needs from its node. */
export interface TableHost {
  readonly process: ProcessId;
  mayAct(): boolean;
  effectsClear(address: ActorAddress, signal: AbortSignal): Promise<void>;
  /** Whether this node owns the slot in its newest view. */
  owns(slot: Slot): boolean;
  surelyGone(process: ProcessId): boolean;
  /**
   * Resolves when the turn that `process` runs for the actor has ended: the process said so, it is surely gone, or
   * `remainingMs` of its stamp have passed. True if the stamp may now be ignored although it is still set.
   */
  awaitRelease(
    address: ActorAddress,
    process: ProcessId,
    remainingMs: number,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Forwards a control call to the process that still runs a turn of the actor. */
  forward(address: ActorAddress, process: ProcessId, call: Call): void;
  /** An activation has raised the epoch of its actor. */
  activated(kind: ActorKind, text: string, epoch: Epoch): void;
  /** The activation has ended. */
  ended?(actor: ActorAddress, epoch: Epoch): void;
}
