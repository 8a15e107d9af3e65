import { z } from 'zod';

/** The longest address that a mail server takes. */
const emailCharactersMax = 254;
const nameCharactersMax = 200;

export const passwordCharactersMin = 10;
/** Beyond any passphrase; keeps a hostile body from being hashed at length. */
export const passwordCharactersMax = 512;

/** ASCII only, so that lower case means the same here and in PostgreSQL. */
export const emailAddress = z.email().max(emailCharactersMax);

/** Addresses are the same whatever their case; this is the form that is compared. */
export function emailKeyOf(email: string): string {
  return email.toLowerCase();
}

export const newPassword = z.string().min(passwordCharactersMin).max(passwordCharactersMax);

/** A password to be compared: whatever was typed, but not at any length. */
export const givenPassword = z.string().min(1).max(passwordCharactersMax);

/** A name that people see, also in the subject of a mail: no line ends or other control characters. */
export const displayName = z
  .string()
  .trim()
  .min(1)
  .max(nameCharactersMax)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters');
