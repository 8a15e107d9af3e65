import { readCursor, textCursor } from '../../http/operations/index.js';

/** Messages are numbered, so their cursor is a number. */
export function numberCursor(number: number): string {
  return textCursor(String(number));
}

export function numberAfter(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  return readCursor(cursor, (text) => {
    // An empty text would become 0 and so restart the list.
    const number = /^\d+$/.test(text) ? Number(text) : undefined;
    return Number.isSafeInteger(number) ? number : undefined;
  });
}
