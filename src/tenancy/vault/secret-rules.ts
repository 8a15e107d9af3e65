// What a name, a value and a reference of a secret may be.
import { invalidField, PlatformError } from '../../kernel/errors.js';
import { isUuid } from '../../kernel/uuid.js';
import type { SecretIdentity, SecretKind } from './secrets.store.js';

export const namePattern = /^[A-Za-z0-9_.-]{1,64}$/;
export const valueBytesMax = 16 * 1024;

/** A reference to a secret in another subject's data: its name or its id. */
export type SecretRef = string | { readonly vault_secret_id: string };

export function refuseOddValue(value: string): void {
  const bytes = Buffer.byteLength(value, 'utf8');
  if (bytes < 1 || bytes > valueBytesMax) {
    throw invalidField('value', `must have 1 to ${valueBytesMax} bytes, but has ${bytes}`);
  }
}

const keyPattern = /^[\x20-\x7e]*$/;

/** The key of a vendor travels in a header. A pasted line break is the usual mistake, and no vendor could tell of it. */
export function refuseOddKey(kind: SecretKind, value: string): void {
  if (kind !== 'llm_key' || keyPattern.test(value)) return;
  throw invalidField(
    'value',
    'must have printable ASCII characters only for kind llm_key; look for a line break at the end',
  );
}

/** A malformed reference matches no secret; it must not cause a database error. */
export function identityOf(ref: SecretRef): SecretIdentity {
  if (typeof ref !== 'string' && isUuid(ref.vault_secret_id)) return { id: ref.vault_secret_id };
  return { name: typeof ref === 'string' && namePattern.test(ref) ? ref : '' };
}

export function absent(ref: SecretRef): PlatformError {
  const name = typeof ref === 'string' ? ref.slice(0, 64) : ref.vault_secret_id.slice(0, 64);
  return new PlatformError('not_found', { message: `The secret ${name} does not exist.` });
}
