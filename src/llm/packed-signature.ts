/**
 * Signatures that leave through a compatible interface and come back with the next request. That format has room for
 * one text only, so the signature's maker is stored inside it; without it the signature could not be returned to its
 * maker only.
 */
import type { Origin } from './contract.js';
import { isRecord, parseJson, text } from './reply-json.js';

const mark = 'troupe1.';

export function packSignature(signature: string, origin: Origin): string {
  const { vendor, model, credentialId } = origin;
  const packed = JSON.stringify([vendor, model, credentialId, signature]);
  return mark + Buffer.from(packed).toString('base64url');
}

/** Undefined if the text was not packed here; such a signature is dropped. */
export function unpackSignature(packed: string): { signature: string; origin: Origin } | undefined {
  if (!packed.startsWith(mark)) return undefined;
  const parsed = parseJson(Buffer.from(packed.slice(mark.length), 'base64url').toString('utf8'));
  if (!Array.isArray(parsed) || isRecord(parsed)) return undefined;
  const [vendor, model, credentialId, signature] = parsed.map((part: unknown) => text(part));
  if (vendor === undefined || model === undefined) return undefined;
  if (credentialId === undefined || signature === undefined) return undefined;
  return { signature, origin: { vendor, model, credentialId } };
}
