import {
  allowsPlace,
  type Destination,
  isApproved,
  type Place,
  placeOfUrl,
  referenceOf,
  type SecretInfo,
  type SecretRef,
} from '../../tenancy/vault/index.js';
import type { SchemaDocument } from './document.js';
import type { Auth } from './editor-schema.js';
import { placeholdersIn } from './placeholders.js';

export function destinationsOf(document: SchemaDocument): readonly Destination[] {
  if (document.type === 'agent') return [];
  if (document.type === 'mcp') {
    const { url, auth } = document.editor_schema.mcp;
    return ofAuth(auth, 'editor_schema.mcp.auth', placeOfUrl(new URL(url)));
  }
  const { url, auth, headers, query, body } = document.editor_schema.api;
  // Host and port contain no placeholders, so the URL can be parsed with the placeholders in it.
  const place = placeOfUrl(new URL(url));
  const filled = Object.entries({ url, headers, query, body }).flatMap(([field, value]) =>
    placeholdersIn(value)
      .filter(({ kind }) => kind === 'secret')
      .map(({ name }) => ({ ...place, secret: name, field: `editor_schema.api.${field}` })),
  );
  return [...ofAuth(auth, 'editor_schema.api.auth', place), ...filled];
}

function ofAuth(auth: Auth, at: string, place: Place): readonly Destination[] {
  if (auth.type === 'none') return [];
  if (auth.secret_ref !== undefined)
    return [{ ...place, secret: auth.secret_ref, field: `${at}.secret_ref` }];
  const vault_secret_id = auth.vault_secret_id ?? '';
  return [{ ...place, secret: { vault_secret_id }, field: `${at}.vault_secret_id` }];
}

export function secretsOf(document: SchemaDocument): string[] {
  return [...new Set(destinationsOf(document).map(({ secret }) => referenceOf(secret)))];
}

/**
 * The destinations of a schema that were not approved and that the secret itself does not allow. A missing secret
 * allows nothing.
 */
export async function forbiddenDestinations(
  document: SchemaDocument,
  approved: readonly string[],
  secretOf: (secret: SecretRef) => Promise<Pick<SecretInfo, 'allowedHosts'> | undefined>,
): Promise<readonly Destination[]> {
  const forbidden: Destination[] = [];
  for (const destination of destinationsOf(document)) {
    if (isApproved(approved, destination)) continue;
    const secret = await secretOf(destination.secret);
    if (!allowsPlace(secret?.allowedHosts ?? null, destination)) forbidden.push(destination);
  }
  return forbidden;
}
