import type { GenerateContentResponseUsageMetadata } from '@google/genai';
import { isRecord, type Loose } from '../reply-json.js';
import { splitOff, tokenCount, zeroUsage, type Usage } from '../usage.js';

/** The prompt count includes cached tokens; the candidate count excludes thoughts; results of built-in tools are separate. */
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
