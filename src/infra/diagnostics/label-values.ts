import type { Time } from '../../../cluster/index.js';

/** The label of everything that has no label of its own. */
export const others = 'other';

/** The first names that come keep theirs, for labels that are few in practice but that no rule bounds, such as models. */
export class BoundedNames {
  readonly #known = new Set<string>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  of(name: string): string {
    if (this.#known.has(name)) return name;
    if (this.#known.size >= this.#max) return others;
    this.#known.add(name);
    return name;
  }
}

/** How often the busiest tenants are chosen again: each change ends a series and begins one. */
const periodMs = 600_000;
/** Tenants whose activity is counted within one period. */
const countedMax = 10_000;
/** A newcomer takes a place only if it was clearly busier, so that equals do not change places in every period. */
const busierBy = 1.5;

export interface TenantLabelsParts {
  readonly time: Pick<Time, 'monotonicMs'>;
  /** The number of tenants with series of their own. */
  readonly max: number;
}

/**
 * Gives the busiest tenants series of their own, and everybody else the label `other`. A tenant is counted under one
 * label at a time, so no counter ever falls: a tenant that takes a place begins at 0, and the series of the one that lost
 * it end.
 */
export class TenantLabels {
  readonly #parts: TenantLabelsParts;
  readonly #placed = new Set<string>();
  readonly #onLeave: ((tenantId: string) => void)[] = [];
  #activity = new Map<string, number>();
  #periodEndsAtMs: number;

  constructor(parts: TenantLabelsParts) {
    this.#parts = parts;
    this.#periodEndsAtMs = parts.time.monotonicMs() + periodMs;
  }

  /** Called with each tenant that has lost its place, so that its series can be dropped. */
  onLeave(drop: (tenantId: string) => void): void {
    this.#onLeave.push(drop);
  }

  /** The label of the tenant; each call counts as activity. */
  of(tenantId: string): string {
    const { time, max } = this.#parts;
    if (time.monotonicMs() >= this.#periodEndsAtMs) this.#chooseAgain();
    const before = this.#activity.get(tenantId);
    if (before !== undefined) this.#activity.set(tenantId, before + 1);
    else if (this.#activity.size < countedMax) this.#activity.set(tenantId, 1);
    if (this.#placed.has(tenantId)) return tenantId;
    if (this.#placed.size >= max) return others;
    this.#placed.add(tenantId);
    return tenantId;
  }

  #chooseAgain(): void {
    this.#periodEndsAtMs = this.#parts.time.monotonicMs() + periodMs;
    const activity = this.#activity;
    this.#activity = new Map();
    const countOf = (tenantId: string): number => activity.get(tenantId) ?? 0;
    const idlest = [...this.#placed].toSorted((one, other) => countOf(one) - countOf(other));
    const newcomers = [...activity.keys()]
      .filter((tenantId) => !this.#placed.has(tenantId))
      .toSorted((one, other) => countOf(other) - countOf(one));
    for (const [index, leaving] of idlest.entries()) {
      const coming = newcomers[index];
      if (coming === undefined || countOf(coming) < busierBy * Math.max(1, countOf(leaving))) break;
      this.#placed.delete(leaving);
      this.#placed.add(coming);
      for (const drop of this.#onLeave) drop(leaving);
    }
  }
}
