import { invalidField } from '../errors.js';

/** Messages are counted, so their cursor is a number. */
export function numberCursor(number: number): string {
  return Buffer.from(String(number)).toString('base64url');
}

export function numberAfter(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const number = Number(Buffer.from(cursor, 'base64url').toString('utf8'));
  if (!Number.isSafeInteger(number) || number < 0)
    throw invalidField('cursor', 'is not a cursor of this list');
  return number;
}
