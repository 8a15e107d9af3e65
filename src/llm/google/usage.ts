import type { GenerateContentResponseUsageMetadata } from '@google/genai';
import { isRecord, type Loose } from '../reply-json.js';
import { splitOff, tokenCount, zeroUsage, type Usage } from '../usage.js';

/** Prompt includes what was cached; candidates leave thoughts out; results of built-in tools are counted apart. */
export function geminiUsage(raw: unknown): Usage {
  if (!isRecord(raw)) return { ...zeroUsage, raw };
  const usage: Loose<GenerateContentResponseUsageMetadata> = raw;
  const cached = splitOff(tokenCount(usage.promptTokenCount), tokenCount(usage.cachedContentTokenCount));
  return {
    ...zeroUsage,
    inputUncached: cached.rest,
    cacheRead: cached.part,
    toolPrompt: tokenCount(usage.toolUsePromptTokenCount),
    outputVisible: tokenCount(usage.candidatesTokenCount),
    reasoning: tokenCount(usage.thoughtsTokenCount),
    raw,
  };
}
