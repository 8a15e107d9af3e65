import type { CompletionUsage } from 'openai/resources/completions';
import { isRecord, type Loose } from '../reply-json.js';
import { splitOff, tokenCount, zeroUsage, type Usage } from '../usage.js';

/**
 * The completion count excludes reasoning, so reasoning is added to the billed tokens. If the total ever says that it is
 * included after all, the total wins: it matches the bill.
 */
export function xaiUsage(raw: unknown): Usage {
  if (!isRecord(raw)) return { ...zeroUsage, raw };
  const usage: Loose<CompletionUsage> = raw;
  const prompt = tokenCount(usage.prompt_tokens);
  const completion = tokenCount(usage.completion_tokens);
  const reasoning = tokenCount(usage.completion_tokens_details?.reasoning_tokens);
  // The cached part has been observed to exceed the prompt that contains it.
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
