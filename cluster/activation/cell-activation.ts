import { actorAddress, epoch, type ActorAddress, type Epoch, type ProcessId, type Slot } from '../ids/ids.js';
import type { Cell } from './cell.js';
import type { Activation, EndReason } from './kind.js';

/** What all activations of a node share. */
export interface ActivationContext {
  readonly process: ProcessId;
  mayAct(): boolean;
  effectsClear(address: ActorAddress, signal: AbortSignal): Promise<void>;
  end(cell: Cell, reason: EndReason): void;
  holds(cell: Cell, bytes: number): void;
}

/** An actor's view of its own activation. Two pointers per actor; everything else is shared. */
export class CellActivation implements Activation {
  readonly #cell: Cell;
  readonly #context: ActivationContext;

  constructor(cell: Cell, context: ActivationContext) {
    this.#cell = cell;
    this.#context = context;
  }

  get address(): ActorAddress {
    return addressOf(this.#cell);
  }

  get slot(): Slot {
    return this.#cell.slot;
  }

  get process(): ProcessId {
    return this.#context.process;
  }

  get epoch(): Epoch {
    return noEpoch;
  }

  end(reason: EndReason): void {
    this.#context.end(this.#cell, reason);
  }

  mayAct(): boolean {
    return this.#cell.state !== 'gone' && this.#context.mayAct();
  }

  effectsClear(signal: AbortSignal): Promise<void> {
    return this.#context.effectsClear(this.address, signal);
  }

  holds(bytes: number): void {
    this.#context.holds(this.#cell, bytes);
  }
}

export function addressOf(cell: Cell): ActorAddress {
  return actorAddress(cell.kind.name, cell.group, cell.key);
}

const noEpoch = epoch(0);
