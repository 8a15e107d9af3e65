import type pg from 'pg';
import type { Time } from '../../../cluster/index.js';

/**
 * How long a connection keeps its plans. For an empty table, every index looks the same to the planner, and the plan is
 * kept while the table fills: a statement would read all rows of a tenant to find one, until PostgreSQL collects
 * statistics.
 */
const plansKeptMs = 2_000;

/** Records when each connection made its plans. If they are old, the caller must send `discard plans`. */
export class PlanAges {
  readonly #time: Pick<Time, 'monotonicMs'>;
  readonly #madeAt = new WeakMap<pg.ClientBase, number>();

  constructor(time: Pick<Time, 'monotonicMs'>) {
    this.#time = time;
  }

  /** Returns true once per expiry; a new connection has no plans. */
  areOld(client: pg.ClientBase): boolean {
    const nowMs = this.#time.monotonicMs();
    const madeAt = this.#madeAt.get(client);
    if (madeAt !== undefined && nowMs - madeAt <= plansKeptMs) return false;
    this.#madeAt.set(client, nowMs);
    return madeAt !== undefined;
  }
}
