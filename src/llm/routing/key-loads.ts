import type { Credential } from './plan.js';

interface Load {
  inFlight: number;
  lastUse: number;
}

/** The calls of this process under way with each key, so that several keys of one vendor are used alike. */
export class KeyLoads {
  readonly #loads = new Map<string, Load>();
  #uses = 0;

  begin({ id }: Credential): void {
    const load = this.#loads.get(id) ?? { inFlight: 0, lastUse: 0 };
    load.inFlight += 1;
    load.lastUse = this.#uses += 1;
    this.#loads.set(id, load);
  }

  end({ id, payer }: Credential): void {
    const load = this.#loads.get(id);
    if (load === undefined) return;
    load.inFlight -= 1;
    // A tenant has one key for a vendor and no turns to keep, and its id changes with the secret.
    if (payer === 'tenant' && load.inFlight <= 0) this.#loads.delete(id);
  }

  /** How many keys are known. */
  get size(): number {
    return this.#loads.size;
  }

  /** The keys with the fewest calls first; among equals, the one that has rested longest. */
  inOrder(keys: readonly Credential[]): readonly Credential[] {
    if (keys.length < 2) return keys;
    const load = ({ id }: Credential): Load => this.#loads.get(id) ?? { inFlight: 0, lastUse: 0 };
    return keys.toSorted((one, other) => {
      const [a, b] = [load(one), load(other)];
      return a.inFlight - b.inFlight || a.lastUse - b.lastUse;
    });
  }
}
