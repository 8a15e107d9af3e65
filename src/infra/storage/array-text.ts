// Encodes the columns of a batch as PostgreSQL array text. pg would inspect each value to find its type, and would
// escape values that need no escaping.
/** Types of batched columns. Lists go into `jsonb`: unnest would flatten them. */
export type BatchColumnType =
  | 'uuid'
  | 'text'
  | 'int4'
  | 'int8'
  | 'float8'
  | 'numeric'
  | 'bool'
  | 'timestamptz'
  | 'date'
  | 'bytea'
  | 'jsonb';

/** The parameter for a column of the rows: array text in most cases, otherwise the values themselves. */
export function columnValue(type: BatchColumnType, name: string, rows: readonly object[]): unknown {
  switch (type) {
    case 'uuid':
    case 'int4':
    case 'int8':
    case 'float8':
    case 'bool':
    case 'date':
    case 'timestamptz':
      return arrayOf(name, rows, plain);
    case 'text':
      return arrayOf(name, rows, quoted);
    case 'jsonb':
      return arrayOf(name, rows, (value) => quoted(JSON.stringify(value)));
    case 'numeric':
    case 'bytea':
      return rows.map((row): unknown => Reflect.get(row, name));
  }
}

function arrayOf(name: string, rows: readonly object[], write: (value: unknown) => string): string {
  let text = '{';
  let separator = '';
  // Read as a property: `Reflect.get` takes half as long again, and a batch has some forty columns.
  for (const row of rows as readonly Readonly<Record<string, unknown>>[]) {
    const value = row[name];
    text += separator + (value === null || value === undefined ? 'NULL' : write(value));
    separator = ',';
  }
  return `${text}}`;
}

function plain(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value instanceof Date) return `"${value.toISOString()}"`;
  return quoted(value);
}

function quoted(value: unknown): string {
  const text = String(value);
  return `"${special.test(text) ? text.replaceAll(specials, '\\$&') : text}"`;
}

const special = /["\\]/;
const specials = /["\\]/g;
