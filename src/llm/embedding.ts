import type { EmbeddingRequest, EmbeddingVector, ReplyItem } from './contract.js';
import type { VendorAdapter } from './vendor.js';
import { VendorError } from './vendor-error.js';

/**
 * Parsing this many numbers takes about 50 ms, in which the process does nothing else. Vectors in base64 are texts and do
 * not count.
 */
export const numbersInReplyMax = 400_000;

/** The adapter for a call that asks for vectors; undefined if the vendor makes none. */
export function forEmbedding(
  adapter: VendorAdapter,
  { inputs, ...request }: EmbeddingRequest,
): VendorAdapter | undefined {
  const form = adapter.embeddings;
  if (form === undefined) return undefined;
  return {
    ...adapter,
    // Each vector and its frame, beside its numbers.
    replyValuesMax: () => numbersInReplyMax + 10 * inputs.length,
    toRequest: (_, model) => form.toRequest({ inputs, ...request }, model),
    fromReply: (body, out) => {
      const from = out.length;
      form.fromReply(body, out);
      if (out.at(-1)?.type === 'failure') return;
      if (isComplete(out.slice(from), inputs.length)) out.push({ type: 'stop', reason: 'stop', raw: 'stop' });
      else out.push(unreadable(adapter.vendor, 'not one vector for each input'));
    },
  };
}

export function unreadable(vendor: string, problem: string): ReplyItem {
  return { type: 'failure', error: new VendorError('nonsense', `the reply has ${problem}`, { vendor }) };
}

function isComplete(items: readonly ReplyItem[], wanted: number): boolean {
  const vectors = items.filter((item) => item.type === 'embedding');
  return (
    vectors.length === wanted && vectors.every(({ index, vector }, at) => index === at && isVector(vector))
  );
}

function isVector(vector: EmbeddingVector): boolean {
  if (vector.length === 0) return false;
  if (typeof vector === 'string')
    return Buffer.byteLength(vector, 'base64') % Float32Array.BYTES_PER_ELEMENT === 0;
  return vector.every((value) => Number.isFinite(value));
}

export function vectorToBase64(vector: EmbeddingVector): string {
  if (typeof vector === 'string') return vector;
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString('base64');
}

export function vectorToNumbers(vector: EmbeddingVector): readonly number[] {
  if (typeof vector !== 'string') return vector;
  const bytes = Buffer.from(vector, 'base64');
  const numbers: number[] = [];
  for (let at = 0; at < bytes.length; at += Float32Array.BYTES_PER_ELEMENT)
    numbers.push(bytes.readFloatLE(at));
  return numbers;
}
