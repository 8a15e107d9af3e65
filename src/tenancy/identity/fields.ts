import { z } from 'zod';

/** The longest address that mail servers accept. */
const emailCharactersMax = 254;
const nameCharactersMax = 200;

export const passwordCharactersMin = 10;
/** Longer than any passphrase; prevents the hashing of huge bodies. */
export const passwordCharactersMax = 512;

/** ASCII only, so that lower case is the same here and in PostgreSQL. */
export const emailAddress = z.email().max(emailCharactersMax);

/** Returns the form in which addresses are compared: their case does not matter. */
export function emailKeyOf(email: string): string {
  return email.toLowerCase();
}

export const newPassword = z.string().min(passwordCharactersMin).max(passwordCharactersMax);

/** A password to check: any text of bounded length. */
export const givenPassword = z.string().min(1).max(passwordCharactersMax);

/** A displayed name, also in the subject of a mail: no line ends or other control characters. */
export const displayName = z
  .string()
  .trim()
  .min(1)
  .max(nameCharactersMax)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters');
