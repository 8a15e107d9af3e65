import { hash } from 'node:crypto';
import { PlatformError } from '../../kernel/errors.js';
import { type KeyPrefix, type PublicPrefix, publicPrefixOf } from './key-text.js';

/** Where a public key may be used, and what for. Every visitor of a page can read the key itself. */
export interface PublicUse {
  /** As browsers send them in `Origin`. */
  readonly origins: readonly string[];
  readonly agentIds: readonly string[];
}

/** 256 bits as base64url. */
const secretForm = /^vis_[\w-]{43}$/;
const secretBytes = 32;
const idDigits = 32;

/** Whether the text is an origin as browsers send it: no path, no port that the scheme implies, lower case. */
export function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** A new visitor's secret. The platform keeps nothing of it. */
export function makeVisitorSecret(bytes: (count: number) => Uint8Array): string {
  return `vis_${Buffer.from(bytes(secretBytes)).toString('base64url')}`;
}

/**
 * The visitor with this secret; undefined without one. The id is a hash, so members who see it in a conversation cannot
 * make the secret of it. A visitor stays the same under another public key of the tenant.
 */
export function visitorOf(tenantId: string, secret: string): string | undefined {
  if (secret === '') return undefined;
  if (!secretForm.test(secret)) {
    throw new PlatformError('authentication_required', {
      message:
        'X-Visitor-Secret is not the secret of a visitor. POST /api/v1/chat/{publicKey}/visitors gives one.',
    });
  }
  return hash('sha256', JSON.stringify(['visitor', tenantId, secret]), 'hex').slice(0, idDigits);
}

/** Throws `origin_not_allowed` unless the key allows pages of the origin. */
export function requireOrigin({ origins }: PublicUse, origin: string): void {
  if (origins.includes(origin)) return;
  const seen =
    origin === '' || origin.length > 300
      ? 'This request names no Origin, so it comes from no page of another origin.'
      : `The origin ${origin} is not one of this public key.`;
  throw new PlatformError('origin_not_allowed', {
    message: `${seen} Add the page's origin to the origins of the key (PATCH /api/keys/:keyId).`,
  });
}

/** The prefix of the whole key. */
export function shownPrefixOf(prefix: KeyPrefix, publicUse: PublicUse | null): KeyPrefix | PublicPrefix {
  return publicUse === null ? prefix : publicPrefixOf(prefix);
}

/** A key stays what it was made as: pages would show a secret key, or lose a public one. */
export function publicUseAfter(
  before: PublicUse | null,
  { origins, agentIds }: Partial<PublicUse> = {},
): PublicUse | null {
  if (before !== null) return { origins: origins ?? before.origins, agentIds: agentIds ?? before.agentIds };
  if (origins === undefined && agentIds === undefined) return null;
  throw new PlatformError('validation_error', {
    message: 'Only a public key has origins and agent_ids. Create one with both fields.',
    details: { field: origins === undefined ? 'agent_ids' : 'origins', issue: 'not a public key' },
  });
}
