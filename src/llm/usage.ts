/**
 * Tokens of one attempt, split by price. The parts are disjoint, so their sum is what the vendor bills,
 * even where the vendor's own counts overlap: `assertConsistent` checks each adapter.
 */
export interface Usage {
  readonly inputUncached: number;
  readonly cacheRead: number;
  /** Input written to the vendor's cache, by retention time, since the prices differ. */
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
  readonly outputVisible: number;
  readonly reasoning: number;
  /** Results of the vendor's own tools, returned to the model as input. */
  readonly toolPrompt: number;
  /** `estimated`: the vendor reported none; `reconciled`: corrected later from its records. */
  readonly source: 'reported' | 'estimated' | 'reconciled';
  /** The service tier that the vendor reported, if it is not the usual one. */
  readonly serviceTier?: string;
  /** The cost that the vendor reported, in dollars. */
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
    // The sum is estimated if one part is.
    source: a.source === 'reported' ? b.source : a.source,
    raw: null,
  };
}

/** A vendor's count: some send null, strings, negatives or fractions. */
export function tokenCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;
}

/** Subtracts `part` from `whole`, at least 0: vendors' parts can exceed their totals. */
export function splitOff(whole: number, part: number): { readonly rest: number; readonly part: number } {
  const taken = Math.min(whole, part);
  return { rest: whole - taken, part: taken };
}
