import type { MessageDeltaUsage, Usage as AnthropicUsage } from '@anthropic-ai/sdk/resources/messages';
import { isRecord, type Loose } from '../reply-json.js';
import { addUsage, splitOff, tokenCount, zeroUsage, type Usage } from '../usage.js';

type Json = Readonly<Record<string, unknown>>;

/** Rounds that the totals leave out. All others are parts of the totals, such as `message` and `fallback_message`. */
const roundsBeside: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message']);

/** Input leaves the cache out: three counts make up what is billed. */
export function anthropicUsage(raw: unknown): Usage {
  if (!isRecord(raw)) return { ...zeroUsage, raw };
  let usage = partsOf(raw);
  const rounds = raw['iterations'];
  if (Array.isArray(rounds)) {
    for (const round of rounds) {
      if (isRecord(round) && roundsBeside.has(round['type'])) usage = addUsage(usage, partsOf(round));
    }
  }
  const tier = serviceTierOf(raw);
  return { ...usage, raw, ...(tier !== undefined && { serviceTier: tier }) };
}

/**
 * What decides the price, the largest surcharge first: a multiple for speed, the tier, a tenth for the place. Models that
 * have no choice of the place say `not_available`.
 */
function serviceTierOf({ speed, service_tier: tier, inference_geo: place }: Json): string | undefined {
  const unusual = (value: unknown, ...usual: readonly string[]): value is string =>
    typeof value === 'string' && value !== '' && !usual.includes(value);
  if (unusual(speed, 'standard')) return speed;
  if (unusual(tier, 'standard')) return tier;
  return unusual(place, 'global', 'not_available') ? place : undefined;
}

/** Totals of a later event replace earlier ones; absent and null fields keep their values. */
export function mergeAnthropicUsage(earlier: Json, later: unknown): Json {
  if (!isRecord(later)) return earlier;
  const said = Object.entries(later).filter(([, value]) => value !== null && value !== undefined);
  return { ...earlier, ...Object.fromEntries(said) };
}

function partsOf(raw: Json): Usage {
  const usage: Loose<AnthropicUsage | MessageDeltaUsage> = raw;
  const written = tokenCount(usage.cache_creation_input_tokens);
  const hour = splitOff(written, tokenCount(usage.cache_creation?.ephemeral_1h_input_tokens));
  const output = tokenCount(usage.output_tokens);
  const thoughts = splitOff(output, tokenCount(usage.output_tokens_details?.thinking_tokens));
  return {
    ...zeroUsage,
    inputUncached: tokenCount(usage.input_tokens),
    cacheRead: tokenCount(usage.cache_read_input_tokens),
    cacheWrite5m: hour.rest,
    cacheWrite1h: hour.part,
    outputVisible: thoughts.rest,
    reasoning: thoughts.part,
  };
}
