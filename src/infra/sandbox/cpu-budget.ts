interface Spent {
  readonly second: number;
  ms: number;
}

const windowSeconds = 60;

/** The CPU time that each tenant used in the last minute, per second of the window. */
export class CpuBudget {
  readonly #limitMs: number;
  readonly #spent = new Map<string, Spent[]>();
  #sweptSecond = 0;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  get limitMs(): number {
    return this.#limitMs;
  }

  /** The number of tenants with entries. */
  get size(): number {
    return this.#spent.size;
  }

  charge(tenantId: string, ms: number, nowMs: number): void {
    const second = Math.floor(nowMs / 1_000);
    this.#sweep(second);
    const own = this.#spent.get(tenantId) ?? [];
    this.#spent.set(tenantId, own);
    const last = own.at(-1);
    if (last?.second === second) last.ms += ms;
    else own.push({ second, ms });
  }

  /** How long the tenant must wait for budget; 0 if some is left. */
  waitMs(tenantId: string, nowMs: number): number {
    const own = this.#spent.get(tenantId);
    if (own === undefined) return 0;
    dropOld(own, Math.floor(nowMs / 1_000));
    let left = this.#limitMs - own.reduce((sum, { ms }) => sum + ms, 0);
    for (const { second, ms } of own) {
      if (left > 0) return 0;
      left += ms;
      if (left > 0) return (second + windowSeconds) * 1_000 - nowMs;
    }
    return 0;
  }

  /** Removes tenants that used nothing for a whole window. */
  #sweep(second: number): void {
    if (second < this.#sweptSecond + windowSeconds) return;
    this.#sweptSecond = second;
    for (const [tenantId, own] of this.#spent) {
      dropOld(own, second);
      if (own.length === 0) this.#spent.delete(tenantId);
    }
  }
}

function dropOld(own: Spent[], second: number): void {
  const kept = own.findIndex((spent) => spent.second > second - windowSeconds);
  own.splice(0, kept === -1 ? own.length : kept);
}
