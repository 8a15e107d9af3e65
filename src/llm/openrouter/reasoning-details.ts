import { readReasoningText } from '../chat-dialect/read-reasoning.js';
import type { ReplyItem } from '../contract.js';
import { isRecord, parseJson } from '../reply-json.js';

/**
 * Besides readable thoughts the aggregator passes the vendor's own blocks, signed or encrypted, as `reasoning_details`.
 * They are kept as opaque text and sent back unchanged.
 */
export function readReasoning(delta: Readonly<Record<string, unknown>>, out: ReplyItem[]): void {
  readReasoningText(delta, out);
  const details = delta['reasoning_details'];
  if (!Array.isArray(details)) return;
  for (const detail of details) {
    if (isRecord(detail) && (isSet(detail['signature']) || isSet(detail['data']))) {
      out.push({ type: 'thinking_end', signature: JSON.stringify(detail) });
    }
  }
}

export function reasoningDetails(signatures: readonly string[]): Readonly<Record<string, unknown>> {
  return { reasoning_details: signatures.map((signature) => parseJson(signature)).filter(isRecord) };
}

function isSet(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
