import { actorAddress, epoch, type ActorAddress, type Epoch, type ProcessId, type Slot } from '../ids/ids.js';
import type { Cell } from './cell.js';
import type { Activation, EndReason } from './kind.js';

/** What all activations of a node have in common. */
export interface CellHome {
  readonly process: ProcessId;
  mayAct(): boolean;
  effectsClear(signal: AbortSignal): Promise<void>;
  end(cell: Cell, reason: EndReason): void;
}

/** What an actor sees of its own place in memory: two pointers, everything else is shared. */
export class CellActivation implements Activation {
  readonly #cell: Cell;
  readonly #home: CellHome;

  constructor(cell: Cell, home: CellHome) {
    this.#cell = cell;
    this.#home = home;
  }

  get address(): ActorAddress {
    return addressOf(this.#cell);
  }

  get slot(): Slot {
    return this.#cell.slot;
  }

  get process(): ProcessId {
    return this.#home.process;
  }

  get epoch(): Epoch {
    return noEpoch;
  }

  end(reason: EndReason): void {
    this.#home.end(this.#cell, reason);
  }

  mayAct(): boolean {
    return this.#cell.state !== 'gone' && this.#home.mayAct();
  }

  effectsClear(signal: AbortSignal): Promise<void> {
    return this.#home.effectsClear(signal);
  }
}

export function addressOf(cell: Cell): ActorAddress {
  return actorAddress(cell.kind.name, cell.group, cell.key);
}

const noEpoch = epoch(0);
