import { z } from 'zod';
import { invalidField } from '../../kernel/errors.js';
import { list, listShape } from './responses.js';

const limitMax = 100;
const limitDefault = 50;
const cursorCharactersMax = 200;

/** `limit` and `cursor` of a list that returns everything if neither is given. A limit above the maximum is reduced. */
export const pageQuery = z.object({
  limit: z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((limit) => limit >= 1, 'must be at least 1')
    .transform((limit) => Math.min(limit, limitMax))
    .optional(),
  cursor: z.string().max(cursorCharactersMax).optional(),
});

/** The start of a page in a newest-first list: after the row with this time and id. */
export interface Position {
  readonly at: Date;
  readonly id: string;
}

const positionShape = z.tuple([z.int(), z.uuid()]);

/** Opaque to the client; contains only values that the client has seen. */
export function encodeCursor({ at, id }: Position): string {
  return Buffer.from(JSON.stringify([at.getTime(), id])).toString('base64url');
}

export function decodeCursor(cursor: string): Position {
  try {
    const [atMs, id] = positionShape.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
    const at = new Date(atMs);
    if (Number.isNaN(at.getTime())) throw new RangeError('not a moment');
    return { at, id };
  } catch {
    // Every failure means that the cursor was not created by `encodeCursor`.
    throw invalidField('cursor', 'is not a valid cursor');
  }
}

/** The shape of a list that always has pages. */
export function pageShape<Item extends z.ZodType>(item: Item) {
  return z.object({ ...listShape(item).shape, next_cursor: z.string().nullable() });
}

/** The requested page of such a list. */
export function pageAsked({ limit, cursor }: z.output<typeof pageQuery>): {
  readonly limit: number;
  readonly after: Position | undefined;
} {
  return { limit: limit ?? limitDefault, after: cursor === undefined ? undefined : decodeCursor(cursor) };
}

/** `rows` has one row more than the page if there is a next page. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  item: (row: Row) => Item,
  cursorBehind: (row: Row) => string,
): { success: true; data: Item[]; count: number; next_cursor: string | null } {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    ...list(rows.slice(0, limit).map(item)),
    next_cursor: last === undefined ? null : cursorBehind(last),
  };
}
