import { isRecord } from '../../reply-json.js';
import { splitOff, tokenCount, type Usage, zeroUsage } from '../../usage.js';

/** Input tokens exclude what the cache took part in; writes are split by how long they are kept. */
export function bedrockUsage(raw: unknown): Usage {
  if (!isRecord(raw)) return { ...zeroUsage, raw };
  const hour = splitOff(tokenCount(raw['cacheWriteInputTokens']), hourTokens(raw['cacheDetails']));
  return {
    ...zeroUsage,
    inputUncached: tokenCount(raw['inputTokens']),
    cacheRead: tokenCount(raw['cacheReadInputTokens']),
    cacheWrite5m: hour.rest,
    cacheWrite1h: hour.part,
    outputVisible: tokenCount(raw['outputTokens']),
    raw,
  };
}

function hourTokens(details: unknown): number {
  if (!Array.isArray(details)) return 0;
  return details
    .filter(isRecord)
    .filter(({ ttl }) => ttl === '1h')
    .reduce((sum, { inputTokens }) => sum + tokenCount(inputTokens), 0);
}
