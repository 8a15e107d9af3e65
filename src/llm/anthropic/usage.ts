import type { MessageDeltaUsage, Usage as AnthropicUsage } from '@anthropic-ai/sdk/resources/messages';
import { isRecord, type Loose } from '../reply-json.js';
import { addUsage, splitOff, tokenCount, zeroUsage, type Usage } from '../usage.js';

/**
 * Input leaves the cache out: three counts make up what is billed. Compaction and advisor rounds are billed beside the
 * top-level totals, so they are added.
 */
export function anthropicUsage(raw: unknown): Usage {
  if (!isRecord(raw)) return { ...zeroUsage, raw };
  let usage = partsOf(raw);
  const rounds = raw['iterations'];
  if (Array.isArray(rounds)) {
    for (const round of rounds) {
      if (isRecord(round) && round['type'] !== 'message') usage = addUsage(usage, partsOf(round));
    }
  }
  const tier = raw['service_tier'];
  return {
    ...usage,
    raw,
    ...(typeof tier === 'string' && tier !== '' && tier !== 'standard' && { serviceTier: tier }),
  };
}

/** Totals of a later event replace earlier ones; absent and null fields keep their values. */
export function mergeAnthropicUsage(
  earlier: Readonly<Record<string, unknown>>,
  later: unknown,
): Readonly<Record<string, unknown>> {
  if (!isRecord(later)) return earlier;
  const said = Object.entries(later).filter(([, value]) => value !== null && value !== undefined);
  return { ...earlier, ...Object.fromEntries(said) };
}

function partsOf(raw: Readonly<Record<string, unknown>>): Usage {
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
