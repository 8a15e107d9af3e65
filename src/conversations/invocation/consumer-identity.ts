import { PlatformError } from '../../kernel/errors.js';

/** Limits of a `consumer_key` and of a display name. */
export const consumerKeyCharactersMax = 255;
export const displayNameCharactersMax = 255;

/**
 * The consumer of a session after a turn that declared `declared`. A session without a consumer takes the first
 * one. A session never passes from one consumer to another, because its history would go with it. One that several
 * people write in stays that of the first.
 */
export function identityAfter(
  current: string | null,
  declared: string | undefined,
  isShared = false,
): string | null {
  if (declared === undefined || (isShared && current !== null)) return current;
  if (current !== null && current !== declared)
    throw new PlatformError('conflict', {
      message: 'The session belongs to another consumer_key. Leave session_id out to start a new one.',
      details: { field: 'consumer_key', issue: 'the session belongs to another consumer_key' },
    });
  return declared;
}

/** `declared`: an integration stated the name. `inferred`: a webhook read it from a payload. */
export type NameSource = 'declared' | 'inferred';

/**
 * A contact's name after another was given: a declared name replaces the present one, an inferred name only fills a
 * gap.
 */
export function displayNameAfter(
  current: string | null,
  given: { readonly name: string; readonly source: NameSource } | undefined,
): string | null {
  if (given === undefined) return current;
  return given.source === 'declared' || current === null ? given.name : current;
}
