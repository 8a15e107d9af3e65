import type { Usage } from '../usage.js';
import { inputTokens } from '../usage.js';
import type { Price } from './model.js';

/**
 * The cost of an attempt in dollars. If the vendor reports its charge, that is used; if it reports the service tier, the
 * price of that tier. Missing prices follow the
 * vendors' usual ratios: cache reads cost as much as input, cache writes 1.25 times that, cache writes for an
 * hour twice.
 */
export function costOf(usage: Usage, price: Price): number {
  if (usage.vendorCost !== undefined) return exact(usage.vendorCost);
  const own = usage.serviceTier === undefined ? undefined : price.service_tiers?.[usage.serviceTier];
  const usual = own ?? price;
  const long = usual.long_prompt;
  const rates = long !== undefined && inputTokens(usage) > long.above_tokens ? long : usual;
  const input = rates.input_per_mtok;
  const perMillion =
    (usage.inputUncached + usage.toolPrompt) * input +
    usage.cacheRead * (rates.cached_input_per_mtok ?? input) +
    usage.cacheWrite5m * (rates.cache_write_5m_per_mtok ?? input * 1.25) +
    usage.cacheWrite1h * (rates.cache_write_1h_per_mtok ?? input * 2) +
    (usage.outputVisible + usage.reasoning) * rates.output_per_mtok;
  return exact(perMillion / 1e6);
}

/** The total cost of several attempts. */
export function sumOfCosts(costs: readonly number[]): number {
  return exact(costs.reduce((sum, cost) => sum + cost, 0));
}

/** Rounded to a billionth of a dollar: finer than any price, coarser than the error of adding doubles. */
function exact(dollars: number): number {
  return Math.round(dollars * 1e9) / 1e9;
}
