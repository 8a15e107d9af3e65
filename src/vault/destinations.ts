// Where tenants send their secrets. Owners and admins decide it; an editor may send a secret only to the hosts that it
// allows by itself, and to those that were approved before.
import type { Role } from '../context/caller.js';
import { PlatformError } from '../errors.js';
import type { SecretRef } from './secrets.js';

/** A secret of the tenant, and the host that something sends it to. */
export interface Destination {
  readonly secret: SecretRef;
  /** The field that names the secret. */
  readonly field: string;
  readonly host: string;
}

/** How a reference is kept beside what uses the secret, to find it by and to compare. */
export function referenceOf(secret: SecretRef): string {
  return typeof secret === 'string' ? `name:${secret}` : `id:${secret.vault_secret_id.toLowerCase()}`;
}

export function approvalOf({ secret, host }: Destination): string {
  return `${referenceOf(secret)} ${host}`;
}

/** What owners and admins write is approved. */
export function approves(role: Role): boolean {
  return role === 'owner' || role === 'admin';
}

export function mayNotSend({ field, host }: Destination): PlatformError {
  return new PlatformError('insufficient_permissions', {
    message: `${field}: this secret may not be sent to ${host}. Its allowed_hosts do not name the host, and no owner or admin approved it here.`,
    details: { field, issue: 'the host is not among the allowed_hosts of the secret', host },
  });
}

/** The given secrets by the references that may be kept of them: by id, and by name where they have one. */
export class SecretsByReference {
  readonly #ids: ReadonlyMap<string, string>;

  constructor(secrets: readonly { readonly id: string; readonly name: string }[]) {
    this.#ids = new Map(
      secrets.flatMap(({ id, name }) => [
        [referenceOf({ vault_secret_id: id }), id] as const,
        ...(name === '' ? [] : [[referenceOf(name), id] as const]),
      ]),
    );
  }

  get references(): string[] {
    return [...this.#ids.keys()];
  }

  /** The ids of those that are named, each once. */
  named(references: readonly string[]): string[] {
    const ids = references.map((reference) => this.#ids.get(reference)).filter((id) => id !== undefined);
    return [...new Set(ids)];
  }
}
