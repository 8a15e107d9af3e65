import type { CompletionUsage } from 'openai/resources/completions';
import { isRecord, type Loose } from '../reply-json.js';
import { splitOff, tokenCount, zeroUsage, type Usage } from '../usage.js';

/** With the service tier, which stands beside the counts, unless it is the usual one. */
export function withServiceTier(
  usage: Usage,
  { service_tier: tier }: Readonly<Record<string, unknown>>,
): Usage {
  return typeof tier === 'string' && tier !== '' && tier !== 'default'
    ? { ...usage, serviceTier: tier }
    : usage;
}

/** The prompt count includes cache reads and writes; the completion count includes reasoning. */
export function chatUsage(raw: unknown): Usage {
  if (!isRecord(raw)) return { ...zeroUsage, raw };
  const usage: Loose<CompletionUsage> = raw;
  const prompt = tokenCount(usage.prompt_tokens);
  const read = splitOff(prompt, tokenCount(usage.prompt_tokens_details?.cached_tokens));
  const written = splitOff(read.rest, tokenCount(usage.prompt_tokens_details?.cache_write_tokens));
  const completion = tokenCount(usage.completion_tokens);
  const reasoning = splitOff(completion, tokenCount(usage.completion_tokens_details?.reasoning_tokens));
  return {
    ...zeroUsage,
    inputUncached: written.rest,
    cacheRead: read.part,
    cacheWrite5m: written.part,
    outputVisible: reasoning.rest,
    reasoning: reasoning.part,
    raw,
  };
}
