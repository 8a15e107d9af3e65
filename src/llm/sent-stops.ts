/** The stop sequences that a vendor takes of those that the caller gave. */
import type { LlmRequest } from './contract.js';
import type { Family } from './wire/field-table.js';

/** The most that a vendor takes. */
export const stopsMax = { openai: 4, google: 5 } as const;

/** Anthropic refuses sequences of white space alone, and others more than a few. */
export function sentStops(family: Family, { stop = [] }: LlmRequest): readonly string[] {
  if (family === 'anthropic') return stop.filter((sequence) => sequence.trim() !== '');
  return family === 'openai' || family === 'google' ? stop.slice(0, stopsMax[family]) : stop;
}
