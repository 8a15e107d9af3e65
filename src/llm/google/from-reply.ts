import type { ReplyItem } from '../contract.js';
import { isRecord } from '../reply-json.js';
import { VendorError } from '../vendor-error.js';
import { GeminiStreamReader } from './from-chunk.js';

/** A whole reply is a stream of one object; one without any answer in it is no reply. */
export function fromGeminiReply(body: unknown, out: ReplyItem[]): void {
  if (!isRecord(body)) {
    const error = new VendorError('nonsense', 'the reply is no JSON object', { vendor: 'google' });
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
    // Nothing was cut off here: the reply was whole and held no reason to end.
    const error = new VendorError('nonsense', 'the reply holds no answer', { vendor: 'google' });
    out[out.length - 1] = { type: 'failure', error };
  }
}
