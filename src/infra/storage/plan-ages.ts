import type pg from 'pg';
import type { Time } from '../../../cluster/index.js';

/**
 * How long a connection keeps its plans. Of an empty table every index looks alike, and the plan that was made for it is
 * kept while the table fills: a statement would read all rows of a tenant for the one that it names, until PostgreSQL
 * happens to count them.
 */
const plansKeptMs = 2_000;

/** When connections made their plans. Whoever is told that they are old sends `discard plans`. */
export class PlanAges {
  readonly #time: Pick<Time, 'monotonicMs'>;
  readonly #madeAt = new WeakMap<pg.ClientBase, number>();

  constructor(time: Pick<Time, 'monotonicMs'>) {
    this.#time = time;
  }

  /** Once for each time that they are; a connection that is new has none. */
  areOld(client: pg.ClientBase): boolean {
    const nowMs = this.#time.monotonicMs();
    const madeAt = this.#madeAt.get(client);
    if (madeAt !== undefined && nowMs - madeAt <= plansKeptMs) return false;
    this.#madeAt.set(client, nowMs);
    return madeAt !== undefined;
  }
}
