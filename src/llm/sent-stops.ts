/** The stop sequences that a vendor takes of those that the caller gave. */
import type { LlmRequest } from './contract.js';
import type { Family } from './wire/field-table.js';

const geminiStopsMax = 5;

/** Anthropic refuses sequences of white space alone, and Google more than five. */
export function sentStops(family: Family, { stop = [] }: LlmRequest): readonly string[] {
  if (family === 'anthropic') return stop.filter((sequence) => sequence.trim() !== '');
  return family === 'google' ? stop.slice(0, geminiStopsMax) : stop;
}
