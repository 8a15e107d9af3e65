import { chatUsage } from '../chat-dialect/usage.js';
import { isRecord } from '../reply-json.js';
import type { Usage } from '../usage.js';

/** OpenAI's usage, with the aggregator's own charge. */
export function openrouterUsage(raw: unknown): Usage {
  const usage = chatUsage(raw);
  const cost = isRecord(raw) ? raw['cost'] : undefined;
  return typeof cost === 'number' && Number.isFinite(cost) && cost >= 0
    ? { ...usage, vendorCost: cost }
    : usage;
}
