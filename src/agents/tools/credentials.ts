import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import type { SecretRef, SecretValue, Vault } from '../../tenancy/vault/index.js';
import type { Auth } from '../schemas/editor-schema.js';
import { ToolError } from './tool-error.js';

export type SecretReader = (secret: SecretRef) => Promise<SecretValue>;

/** The secret that an `auth` refers to; undefined for type `none`. */
export function secretOf(auth: Auth): SecretRef | undefined {
  if (auth.type === 'none') return undefined;
  return auth.secret_ref ?? { vault_secret_id: auth.vault_secret_id ?? '' };
}

/** The header of an `auth`, with the secret in it. */
export async function authHeaders(auth: Auth, read: SecretReader): Promise<Readonly<Record<string, string>>> {
  const secret = secretOf(auth);
  if (secret === undefined || auth.type === 'none') return {};
  const value = (await read(secret)).reveal();
  switch (auth.type) {
    case 'bearer':
      return { Authorization: `Bearer ${value}` };
    case 'basic':
      return { Authorization: `Basic ${Buffer.from(value, 'utf8').toString('base64')}` };
    case 'api_key':
      return { [auth.header]: value };
  }
}

/** Reads secret values. A missing secret is reported as a fault of the tool that names it. */
export function secretReader(
  vault: Pick<Vault, 'resolve'>,
  { scope }: { readonly scope: TenantScope },
): SecretReader {
  return async (secret) => {
    try {
      return (await vault.resolve(scope, secret)).value;
    } catch (cause) {
      if (!(cause instanceof PlatformError) || cause.code !== 'not_found') throw cause;
      throw new ToolError('secret', cause.message, { cause });
    }
  };
}
