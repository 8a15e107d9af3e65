import type { ExtraReader } from '../chat-dialect/dialect.js';
import { readReasoningText } from '../chat-dialect/read-reasoning.js';
import { isRecord, parseJson, text } from '../reply-json.js';

type Detail = Readonly<Record<string, unknown>>;

/**
 * Besides readable thoughts the aggregator passes the vendor's own blocks, signed or encrypted, as `reasoning_details`.
 * They are kept as opaque text and sent back unchanged. A stream holds a block in fragments of one index, and the last
 * has its signature: the vendor checks it against the whole text.
 */
export function reasoningReader(): ExtraReader {
  const open = new Map<unknown, Detail>();
  return (delta, out) => {
    readReasoningText(delta, out);
    const details = delta['reasoning_details'];
    if (!Array.isArray(details)) return;
    for (const fragment of details) {
      if (!isRecord(fragment)) continue;
      const { index } = fragment;
      const detail = index === undefined ? fragment : merged(open.get(index), fragment);
      if (isSet(fragment['signature']) || isSet(fragment['data'])) {
        open.delete(index);
        out.push({ type: 'thinking_end', signature: JSON.stringify(detail) });
      } else if (index !== undefined) open.set(index, detail);
    }
  };
}

/** A block of another type may have the same index, such as an encrypted one after its summary. */
function merged(earlier: Detail | undefined, fragment: Detail): Detail {
  if (earlier === undefined || earlier['type'] !== fragment['type']) return fragment;
  const set = Object.entries(fragment).filter(([, value]) => value !== undefined && value !== null);
  const whole = (text(earlier['text']) ?? '') + (text(fragment['text']) ?? '');
  return { ...earlier, ...Object.fromEntries(set), ...(whole !== '' && { text: whole }) };
}

export function reasoningDetails(signatures: readonly string[]): Readonly<Record<string, unknown>> {
  return { reasoning_details: signatures.map((signature) => parseJson(signature)).filter(isRecord) };
}

function isSet(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
