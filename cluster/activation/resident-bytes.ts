import type { Cell } from './cell.js';

/**
 * What the actors of a node hold by their own account, in bytes. Above the limit, idle ones leave memory; what busy ones
 * hold may exceed it.
 */
export class ResidentBytes {
  readonly #max: number;
  readonly #evictOne: () => boolean;
  #sum = 0;

  /** `evictOne` ends an idle actor that holds something; false if it finds none. */
  constructor(max: number, evictOne: () => boolean) {
    this.#max = max;
    this.#evictOne = evictOne;
  }

  set(cell: Cell, bytes: number): void {
    if (cell.state === 'gone') return;
    this.#sum += bytes - cell.bytes;
    cell.bytes = bytes;
    while (this.#sum > this.#max) if (!this.#evictOne()) return;
  }

  remove(cell: Cell): void {
    this.#sum -= cell.bytes;
    cell.bytes = 0;
  }
}
