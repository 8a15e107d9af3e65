import type { Usage } from '../usage.js';
import { inputTokens } from '../usage.js';
import type { Price } from './model.js';

/**
 * What an attempt costs in dollars. Where the vendor says itself what it charged, that counts. Prices that a list
 * leaves out follow the vendors' habit: reading the cache at the price of input, writing it at 1.25 times that, for an
 * hour at twice.
 */
export function costOf(usage: Usage, price: Price): number {
  if (usage.vendorCost !== undefined) return usage.vendorCost;
  const long = price.long_prompt;
  const rates = long !== undefined && inputTokens(usage) > long.above_tokens ? long : price;
  const input = rates.input_per_mtok;
  const perMillion =
    (usage.inputUncached + usage.toolPrompt) * input +
    usage.cacheRead * (rates.cached_input_per_mtok ?? input) +
    usage.cacheWrite5m * (rates.cache_write_5m_per_mtok ?? input * 1.25) +
    usage.cacheWrite1h * (rates.cache_write_1h_per_mtok ?? input * 2) +
    (usage.outputVisible + usage.reasoning) * rates.output_per_mtok;
  return exact(perMillion / 1e6);
}

/** What several attempts cost together. */
export function sumOfCosts(costs: readonly number[]): number {
  return exact(costs.reduce((sum, cost) => sum + cost, 0));
}

/** To a billionth of a dollar: below any price, above what doubles add up wrongly. */
function exact(dollars: number): number {
  return Math.round(dollars * 1e9) / 1e9;
}
