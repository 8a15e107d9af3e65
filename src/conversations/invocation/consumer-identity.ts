import { PlatformError } from '../../kernel/errors.js';

/** Of a `consumer_key`, and of the name that people give to its owner. */
export const consumerKeyCharactersMax = 255;
export const displayNameCharactersMax = 255;

/**
 * To whom a session belongs after a turn that declared `declared`. A session with no identity is adopted by the first
 * one; a session of somebody else is never handed over, since its history would go with it.
 */
export function identityAfter(current: string | null, declared: string | undefined): string | null {
  if (declared === undefined) return current;
  if (current !== null && current !== declared)
    throw new PlatformError('CONFLICT', {
      message: 'The session belongs to another consumer_key.',
      details: { field: 'consumer_key', issue: 'the session belongs to another consumer_key' },
    });
  return declared;
}

/** `declared`: an integration said so. `inferred`: a webhook read it somewhere. */
export type NameSource = 'declared' | 'inferred';

/** The name of a contact after one more was given: a declared one replaces, an inferred one only fills. */
export function displayNameAfter(
  current: string | null,
  given: { readonly name: string; readonly source: NameSource } | undefined,
): string | null {
  if (given === undefined) return current;
  return given.source === 'declared' || current === null ? given.name : current;
}
