// Checks each row that slonik returns against the zod schema of its query.
import { SchemaValidationError } from 'slonik';
import type { Interceptor, QueryResultRow } from 'slonik';

/** Only what has been checked reaches the caller; columns that the schema does not name are dropped. */
export const resultParser: Interceptor = {
  name: 'result-parser',
  transformRow: ({ resultParser: schema }, query, row) => {
    if (schema === undefined) return row;
    const parsed = schema.safeParse(row);
    if (!parsed.success) throw new SchemaValidationError(query, {}, parsed.error.issues);
    if (!isRow(parsed.data)) throw new TypeError('The schema of a row is the schema of an object');
    return parsed.data;
  },
};

function isRow(value: unknown): value is QueryResultRow {
  return typeof value === 'object' && value !== null;
}
