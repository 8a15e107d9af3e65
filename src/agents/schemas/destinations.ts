import type { Role } from '../../context/caller.js';
import type { SchemaDocument } from './document.js';
import type { Auth } from './editor-schema.js';
import { placeholdersIn } from './placeholders.js';
import { PlatformError } from '../../errors.js';
import { allowsHost, type SecretInfo, type SecretRef } from '../../vault/index.js';

/** A secret of the tenant, and the host that a schema sends it to. */
export interface Destination {
  readonly secret: SecretRef;
  /** The field of the schema that names the secret. */
  readonly field: string;
  readonly host: string;
}

export function destinationsOf(document: SchemaDocument): readonly Destination[] {
  if (document.type === 'agent') return [];
  if (document.type === 'mcp') {
    const { url, auth } = document.editor_schema.mcp;
    return ofAuth(auth, 'editor_schema.mcp.auth', new URL(url).hostname);
  }
  const { url, auth, headers, query, body } = document.editor_schema.api;
  // Placeholders never stand in the host, so the address can be read with them in place.
  const host = new URL(url).hostname;
  const filled = Object.entries({ url, headers, query, body }).flatMap(([field, value]) =>
    placeholdersIn(value)
      .filter(({ kind }) => kind === 'secret')
      .map(({ name }) => ({ secret: name, field: `editor_schema.api.${field}`, host })),
  );
  return [...ofAuth(auth, 'editor_schema.api.auth', host), ...filled];
}

function ofAuth(auth: Auth, at: string, host: string): readonly Destination[] {
  if (auth.type === 'none') return [];
  if (auth.secret_ref !== undefined) return [{ secret: auth.secret_ref, field: `${at}.secret_ref`, host }];
  const vault_secret_id = auth.vault_secret_id ?? '';
  return [{ secret: { vault_secret_id }, field: `${at}.vault_secret_id`, host }];
}

/** How a reference is kept beside the schema, to find it by and to compare. */
export function referenceOf(secret: SecretRef): string {
  return typeof secret === 'string' ? `name:${secret}` : `id:${secret.vault_secret_id.toLowerCase()}`;
}

export function secretsOf(document: SchemaDocument): string[] {
  return [...new Set(destinationsOf(document).map(({ secret }) => referenceOf(secret)))];
}

export function approvalOf({ secret, host }: Destination): string {
  return `${referenceOf(secret)} ${host}`;
}

/** Owners and admins decide where secrets may go; what they write is approved. */
export function approves(role: Role): boolean {
  return role === 'owner' || role === 'admin';
}

/**
 * Of the destinations of a schema those that nobody approved and that the secret itself does not allow. A secret that
 * does not exist allows nothing.
 */
export async function forbiddenDestinations(
  document: SchemaDocument,
  approved: readonly string[],
  secretOf: (secret: SecretRef) => Promise<Pick<SecretInfo, 'allowedHosts'> | undefined>,
): Promise<readonly Destination[]> {
  const forbidden: Destination[] = [];
  for (const destination of destinationsOf(document)) {
    if (approved.includes(approvalOf(destination))) continue;
    const secret = await secretOf(destination.secret);
    if (!allowsHost(secret?.allowedHosts ?? null, destination.host)) forbidden.push(destination);
  }
  return forbidden;
}

export function mayNotSend({ field, host }: Destination): PlatformError {
  return new PlatformError('insufficient_permissions', {
    message: `${field}: this secret may not be sent to ${host}. Its allowed_hosts do not name the host, and no owner or admin approved it here.`,
    details: { field, issue: 'the host is not among the allowed_hosts of the secret', host },
  });
}
