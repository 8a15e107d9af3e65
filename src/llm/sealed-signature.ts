/**
 * Signatures that leave through a door and come back with the next request. The form of the door has room for one text
 * only, so who made the signature travels inside it; without that it could not be given back to its maker alone.
 */
import type { Origin } from './contract.js';
import { isRecord, parseJson, text } from './reply-json.js';

const mark = 'troupe1.';

export function sealSignature(signature: string, origin: Origin): string {
  const { vendor, model, credentialId } = origin;
  const sealed = JSON.stringify([vendor, model, credentialId, signature]);
  return mark + Buffer.from(sealed).toString('base64url');
}

/** Undefined for what was not sealed here; such a signature is nobody's and is left out. */
export function openSignature(sealed: string): { signature: string; origin: Origin } | undefined {
  if (!sealed.startsWith(mark)) return undefined;
  const parsed = parseJson(Buffer.from(sealed.slice(mark.length), 'base64url').toString('utf8'));
  if (!Array.isArray(parsed) || isRecord(parsed)) return undefined;
  const [vendor, model, credentialId, signature] = parsed.map((part: unknown) => text(part));
  if (vendor === undefined || model === undefined) return undefined;
  if (credentialId === undefined || signature === undefined) return undefined;
  return { signature, origin: { vendor, model, credentialId } };
}
