/** This node's recent observations of each model: moving averages, so that old failures lose weight. */
export interface Observed {
  readonly firstSignalMs: number | undefined;
  /** 0 to 1. */
  readonly failureRate: number;
}

const weightOfNew = 0.2;
/** Half of a failure rate decays in this time even without calls of the model. */
const forgetHalfMs = 60_000;
/** Names such as those of the simulated vendor's models are without end; those called longest ago are forgotten. */
export const observedModelsMax = 1_000;

interface Entry {
  firstSignalMs: number | undefined;
  failureRate: number;
  atMs: number;
}

export class Observations {
  readonly #models = new Map<string, Entry>();

  record(model: string, nowMs: number, outcome: { failed: boolean; firstSignalMs?: number }): void {
    const entry = this.#models.get(model) ?? { firstSignalMs: undefined, failureRate: 0, atMs: nowMs };
    const rate = faded(entry, nowMs);
    entry.failureRate = rate + weightOfNew * ((outcome.failed ? 1 : 0) - rate);
    entry.atMs = nowMs;
    if (outcome.firstSignalMs !== undefined) {
      const before = entry.firstSignalMs ?? outcome.firstSignalMs;
      entry.firstSignalMs = before + weightOfNew * (outcome.firstSignalMs - before);
    }
    // Set anew, so that the first is the one that was called longest ago.
    this.#models.delete(model);
    this.#models.set(model, entry);
    if (this.#models.size <= observedModelsMax) return;
    const [oldest] = this.#models.keys();
    if (oldest !== undefined) this.#models.delete(oldest);
  }

  /** How many models are observed. */
  get size(): number {
    return this.#models.size;
  }

  of(model: string, nowMs: number): Observed {
    const entry = this.#models.get(model);
    if (entry === undefined) return { firstSignalMs: undefined, failureRate: 0 };
    return { firstSignalMs: entry.firstSignalMs, failureRate: faded(entry, nowMs) };
  }
}

function faded(entry: Entry, nowMs: number): number {
  return entry.failureRate * 0.5 ** (Math.max(0, nowMs - entry.atMs) / forgetHalfMs);
}
