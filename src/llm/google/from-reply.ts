import type { ReplyItem } from '../contract.js';
import { isRecord } from '../reply-json.js';
import { VendorError } from '../vendor-error.js';
import { GeminiStreamReader } from './from-chunk.js';

/** A whole reply is read as a stream of one object; an object without an answer is an error. */
export function fromGeminiReply(body: unknown, out: ReplyItem[]): void {
  if (!isRecord(body)) {
    const error = new VendorError('nonsense', 'the reply is not a JSON object', { vendor: 'google' });
    out.push({ type: 'failure', error });
    return;
  }
  const reader = new GeminiStreamReader();
  reader.readObject(body, out);
  if (out.at(-1)?.type === 'failure') return;
  const items = out.length;
  reader.end(out);
  const last = out.at(-1);
  if (out.length > items && last?.type === 'failure') {
    // The reply was whole and gave no finish reason, so nothing was cut off.
    const error = new VendorError('nonsense', 'the reply holds no answer', { vendor: 'google' });
    out[out.length - 1] = { type: 'failure', error };
  }
}
