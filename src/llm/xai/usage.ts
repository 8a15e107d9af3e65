import type { CompletionUsage } from 'openai/resources/completions';
import { isRecord, type Loose } from '../reply-json.js';
import { splitOff, tokenCount, zeroUsage, type Usage } from '../usage.js';

/**
 * Here the completion leaves reasoning out, so it is added to what is billed. Should the total ever say that it is
 * inside after all, the total wins: it is what the bill shows.
 */
export function xaiUsage(raw: unknown): Usage {
  if (!isRecord(raw)) return { ...zeroUsage, raw };
  const usage: Loose<CompletionUsage> = raw;
  const prompt = tokenCount(usage.prompt_tokens);
  const completion = tokenCount(usage.completion_tokens);
  const reasoning = tokenCount(usage.completion_tokens_details?.reasoning_tokens);
  // The cached part has been seen larger than the prompt that it belongs to.
  const read = splitOff(prompt, tokenCount(usage.prompt_tokens_details?.cached_tokens));
  const inside = tokenCount(usage.total_tokens) === prompt + completion;
  const visible = inside ? splitOff(completion, reasoning) : { rest: completion, part: reasoning };
  return {
    ...zeroUsage,
    inputUncached: read.rest,
    cacheRead: read.part,
    outputVisible: visible.rest,
    reasoning: visible.part,
    raw,
  };
}
