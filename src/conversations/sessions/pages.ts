import { invalidField } from '../../kernel/errors.js';

/** Messages are numbered, so their cursor is a number. */
export function numberCursor(number: number): string {
  return Buffer.from(String(number)).toString('base64url');
}

export function numberAfter(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  const number = Number(text);
  // An empty text would become 0 and so restart the list.
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number))
    throw invalidField('cursor', 'is not a cursor of this list');
  return number;
}
