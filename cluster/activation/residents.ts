import type { Cell } from './cell.js';

export interface ActorEpoch {
  readonly kind: string;
  readonly group: string;
  readonly key: string;
  readonly epoch: number;
}

/** Cells of one kind by last use, as a doubly linked list through the cells themselves. */
export class Residents {
  #oldest: Cell | undefined;
  #newest: Cell | undefined;

  get oldest(): Cell | undefined {
    return this.#oldest;
  }

  /** Epochs of the durable actors, the most recently used first. */
  epochs(countMax: number): readonly ActorEpoch[] {
    const found: ActorEpoch[] = [];
    for (let cell = this.#newest; cell !== undefined && found.length < countMax; cell = cell.older) {
      const { kind, group, key, holder } = cell;
      if (holder !== undefined) found.push({ kind: kind.name, group, key, epoch: holder.fence.epoch });
    }
    return found;
  }

  touch(cell: Cell, tick: number): void {
    cell.usedAt = tick;
    if (this.#newest === cell) return;
    this.remove(cell);
    cell.older = this.#newest;
    if (this.#newest !== undefined) this.#newest.newer = cell;
    this.#newest = cell;
    this.#oldest ??= cell;
  }

  remove(cell: Cell): void {
    if (cell.older !== undefined) cell.older.newer = cell.newer;
    else if (this.#oldest === cell) this.#oldest = cell.newer;
    if (cell.newer !== undefined) cell.newer.older = cell.older;
    else if (this.#newest === cell) this.#newest = cell.older;
    cell.older = undefined;
    cell.newer = undefined;
  }

  /** The least recently used cell that `suits`, among the `depth` oldest. */
  findOldest(suits: (cell: Cell) => boolean, depth: number): Cell | undefined {
    let cell = this.#oldest;
    for (let seen = 0; cell !== undefined && seen < depth; seen += 1) {
      if (suits(cell)) return cell;
      cell = cell.newer;
    }
    return undefined;
  }
}
