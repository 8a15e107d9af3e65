// Columns of a batch as PostgreSQL reads arrays. Written at once as text: pg would look at each value to
// find out what it is, and escape what cannot need it.
/** Types that a batched column may have. Lists go into `jsonb`: unnest would take them apart. */
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

/** What pg gets for a column of the rows: a text in most cases, else the values themselves. */
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
  for (const row of rows) {
    const value: unknown = Reflect.get(row, name);
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
