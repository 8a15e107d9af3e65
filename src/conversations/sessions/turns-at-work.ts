/** The turns that this process works on, by tenant, so that those of a suspended tenant can be cancelled. */
export interface WorkedTurn {
  readonly sessionId: string;
  readonly executionId: string;
}

export class TurnsAtWork {
  readonly #byTenant = new Map<string, Set<WorkedTurn>>();

  /** The turn is listed until the returned function is called. */
  add(tenantId: string, turn: WorkedTurn): () => void {
    const turns = this.#byTenant.get(tenantId) ?? new Set();
    this.#byTenant.set(tenantId, turns.add(turn));
    return () => {
      turns.delete(turn);
      if (turns.size === 0 && this.#byTenant.get(tenantId) === turns) this.#byTenant.delete(tenantId);
    };
  }

  get count(): number {
    let count = 0;
    for (const turns of this.#byTenant.values()) count += turns.size;
    return count;
  }

  get tenants(): readonly string[] {
    return [...this.#byTenant.keys()];
  }

  of(tenantId: string): readonly WorkedTurn[] {
    return [...(this.#byTenant.get(tenantId) ?? [])];
  }
}
