import { z } from 'zod';
import type { FoundPage } from '../../infra/storage/index.js';
import { invalidField } from '../../kernel/errors.js';
import { list, listShape } from './responses.js';

const limitMax = 100;
const limitDefault = 50;
const cursorCharactersMax = 200;

/** `limit` and `cursor` of a list. A limit above the maximum is reduced. */
export const pageQuery = z.object({
  limit: z
    .string()
    .regex(/^\d+$/, 'must be a whole number of at least 1')
    .transform(Number)
    .refine((limit) => limit >= 1, 'must be at least 1')
    .transform((limit) => Math.min(limit, limitMax))
    .optional(),
  cursor: z.string().max(cursorCharactersMax).optional(),
});

interface AskedPage {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The start of a page in a newest-first list: after the row with this time and id. */
export interface Position {
  readonly at: Date;
  readonly id: string;
}

/** Opaque to the client; contains only values that the client has seen. */
export function encodeCursor({ at, id }: Position): string {
  return textCursor(JSON.stringify([at.getTime(), id]));
}

export function decodeCursor(cursor: string): Position {
  return positionOf(cursor, z.uuid());
}

/** The same for lists whose rows are named by other ids. */
export function positionOf(cursor: string, id: z.ZodType<string>): Position {
  return readCursor(cursor, (text) => {
    const parsed = z.tuple([z.int(), id]).parse(JSON.parse(text));
    const at = new Date(parsed[0]);
    return Number.isNaN(at.getTime()) ? undefined : { at, id: parsed[1] };
  });
}

export function textCursor(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** What `read` finds in the cursor. It throws or returns undefined for a text that no `textCursor` was made of. */
export function readCursor<After>(cursor: string, read: (text: string) => After | undefined): After {
  try {
    const after = read(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (after !== undefined) return after;
  } catch {
    // Refused below.
  }
  throw invalidField('cursor', 'is not a valid cursor');
}

/** The shape of a list that always has pages. */
export function pageShape<Item extends z.ZodType>(item: Item) {
  return z.object({ ...listShape(item).shape, next_cursor: z.string().nullable() });
}

/** The shape of a list that returns everything, without a cursor, unless `limit` or `cursor` is given. */
export function optionalPageShape<Item extends z.ZodType>(item: Item) {
  return z.object({ ...listShape(item).shape, next_cursor: z.string().nullable().optional() });
}

/** The requested page of a list that always has pages. */
export function pageAsked(query: AskedPage): {
  readonly limit: number;
  readonly after: Position | undefined;
};
export function pageAsked<After>(
  query: AskedPage,
  read: (cursor: string) => After,
): { readonly limit: number; readonly after: After | undefined };
export function pageAsked(
  { limit, cursor }: AskedPage,
  read: (cursor: string) => unknown = decodeCursor,
): { readonly limit: number; readonly after: unknown } {
  return { limit: limit ?? limitDefault, after: cursor === undefined ? undefined : read(cursor) };
}

/** The limit of a list that returns everything, for which it is undefined, unless `limit` or `cursor` is given. */
export function optionalLimit({ limit, cursor }: AskedPage): number | undefined {
  return limit ?? (cursor === undefined ? undefined : limitDefault);
}

/** How many rows to read for a page: one more than it holds shows whether there is a next one. */
export function rowsFor(limit: number): number;
export function rowsFor(limit: number | undefined): number | undefined;
export function rowsFor(limit: number | undefined): number | undefined {
  return limit === undefined ? undefined : limit + 1;
}

/** The rows of the page, and the cursor of the next: null at the end, undefined for a list without pages. */
export interface CutPage<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor: string | null | undefined;
}

/** `rows` are as many as `rowsFor` said, or fewer. */
export function cutPage<Row>(
  rows: readonly Row[],
  limit: number | undefined,
  cursorBehind: (row: Row) => string,
): CutPage<Row> {
  if (limit === undefined) return { rows, nextCursor: undefined };
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), nextCursor: last === undefined ? null : cursorBehind(last) };
}

/** The answer with a page of a list that may have none. */
export function optionalPage<Item>(
  items: Item[],
  nextCursor: string | null | undefined,
): { success: true; data: Item[]; count: number; next_cursor?: string | null } {
  return { ...list(items), ...(nextCursor !== undefined && { next_cursor: nextCursor }) };
}

/** The answer with a page of a list that always has pages. */
export function pageOf<Row, Item>(
  found: readonly Row[],
  limit: number,
  item: (row: Row) => Item,
  cursorBehind: (row: Row) => string,
): { success: true; data: Item[]; count: number; next_cursor: string | null } {
  const { rows, nextCursor } = cutPage(found, limit, cursorBehind);
  return { ...list(rows.map(item)), next_cursor: nextCursor ?? null };
}

export function nextCursorOf<Row>(
  { rows, hasMore }: FoundPage<Row>,
  cursorBehind: (row: Row) => string,
): string | null {
  const last = hasMore ? rows.at(-1) : undefined;
  return last === undefined ? null : cursorBehind(last);
}

/** The same for a list that returns everything unless it is asked for pages: a cursor then says that it does not fit. */
export function optionalCursorOf<Row>(
  found: FoundPage<Row>,
  limit: number | undefined,
  cursorBehind: (row: Row) => string,
): string | null | undefined {
  const next = nextCursorOf(found, cursorBehind);
  return limit === undefined ? (next ?? undefined) : next;
}

/** The answer with such a page. */
export function pageFound<Row, Item>(
  found: FoundPage<Row>,
  item: (row: Row) => Item,
  cursorBehind: (row: Row) => string,
): { success: true; data: Item[]; count: number; next_cursor: string | null } {
  return { ...list(found.rows.map(item)), next_cursor: nextCursorOf(found, cursorBehind) };
}

/** The cursor behind a row of a list by the time of creation. */
export function cursorOfCreated({
  created_at,
  id,
}: {
  readonly created_at: Date;
  readonly id: string;
}): string {
  return encodeCursor({ at: created_at, id });
}

/** A yes or no in a query. */
export const queryFlag = z
  .enum(['true', 'false', '1', '0'])
  .transform((text) => text === 'true' || text === '1');
