// The destinations of secrets. Owners and admins decide about them. An editor may send a secret only to hosts that its
// allowed hosts name, and to places that were approved before.
import type { Role } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import { isReadable, isUsualPlace, namedPlace, type Place, textOfPlace } from './places.js';
import type { SecretRef } from './secret-rules.js';

/** A secret of the tenant, and the place that a resource sends it to. */
export interface Destination extends Place {
  readonly secret: SecretRef;
  /** The field that names the secret. */
  readonly field: string;
}

/** The form in which a resource stores its reference to a secret, for searches and comparisons. */
export function referenceOf(secret: SecretRef): string {
  return typeof secret === 'string' ? `name:${secret}` : `id:${secret.vault_secret_id.toLowerCase()}`;
}

export function approvalOf(destination: Destination): string {
  return `${referenceOf(destination.secret)} ${textOfPlace(destination)}`;
}

/**
 * Whether a stored approval covers this destination. Approvals from the time when they named only a host cover TLS on
 * the usual port only.
 */
export function isApproved(approved: readonly string[], destination: Destination): boolean {
  if (approved.includes(approvalOf(destination))) return true;
  const { secret, host } = destination;
  return isUsualPlace(destination) && approved.includes(`${referenceOf(secret)} ${host}`);
}

/** Resources that owners and admins write are approved. */
export function approves(role: Role): boolean {
  return role === 'owner' || role === 'admin';
}

export function mayNotSend(destination: Destination): PlatformError {
  const { field, host } = destination;
  const why = isReadable(destination)
    ? 'allowed_hosts permit a host over TLS only'
    : 'Its allowed_hosts do not include the host';
  return new PlatformError('insufficient_permissions', {
    message: `${field}: this secret may not be sent to ${namedPlace(destination)}. ${why}, and no owner or admin approved this scheme, host and port here.`,
    details: {
      field,
      issue: 'neither allowed by the secret nor approved',
      host,
      place: textOfPlace(destination),
    },
  });
}

/** The given secrets by the references that resources may store: by id, and by name if they have one. */
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

  /** The ids of the referenced secrets, without duplicates. */
  named(references: readonly string[]): string[] {
    const ids = references.map((reference) => this.#ids.get(reference)).filter((id) => id !== undefined);
    return [...new Set(ids)];
  }
}
