/**
 * Tokens of one attempt, split by how they are priced. The parts are disjoint, so their sum is what the vendor bills,
 * whatever its own names include in each other: `assertConsistent` holds every adapter to that.
 */
export interface Usage {
  readonly inputUncached: number;
  readonly cacheRead: number;
  /** Input written to the vendor's cache, by how long it is kept; the prices differ. */
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
  readonly outputVisible: number;
  readonly reasoning: number;
  /** Results of tools that the vendor itself ran, fed back to the model as input. */
  readonly toolPrompt: number;
  /** `estimated`: the vendor never said; `reconciled`: corrected later from its records. */
  readonly source: 'reported' | 'estimated' | 'reconciled';
  /** What the vendor says the call cost, in dollars, where it says so. */
  readonly vendorCost?: number;
  /** The vendor's own object, for audits. */
  readonly raw: unknown;
}

export const zeroUsage: Usage = {
  inputUncached: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  outputVisible: 0,
  reasoning: 0,
  toolPrompt: 0,
  source: 'reported',
  raw: null,
};

export function inputTokens(usage: Usage): number {
  return usage.inputUncached + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h + usage.toolPrompt;
}

export function outputTokens(usage: Usage): number {
  return usage.outputVisible + usage.reasoning;
}

export function totalTokens(usage: Usage): number {
  return inputTokens(usage) + outputTokens(usage);
}

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputUncached: a.inputUncached + b.inputUncached,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite5m: a.cacheWrite5m + b.cacheWrite5m,
    cacheWrite1h: a.cacheWrite1h + b.cacheWrite1h,
    outputVisible: a.outputVisible + b.outputVisible,
    reasoning: a.reasoning + b.reasoning,
    toolPrompt: a.toolPrompt + b.toolPrompt,
    // One guess among them makes the sum a guess.
    source: a.source === 'reported' ? b.source : a.source,
    raw: null,
  };
}

/** A count from outside: vendors send null, strings, negatives and fractions at times. */
export function tokenCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
}

/** Takes `part` out of `whole` without going below zero: vendors' parts do not always fit in their totals. */
export function splitOff(whole: number, part: number): { readonly rest: number; readonly part: number } {
  const taken = Math.min(whole, part);
  return { rest: whole - taken, part: taken };
}
