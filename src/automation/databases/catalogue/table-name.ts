import pg from 'pg';

export interface TableName {
  readonly schema: string;
  readonly name: string;
}

/** The length limit of schema and table names, as PostgreSQL truncates them. */
const nameBytesMax = 63;

/** Parses `schema.table`; the first dot separates the two, so that a text never means two tables. */
export function tableNameOf(text: string): TableName | undefined {
  const dot = text.indexOf('.');
  const [schema, name] = [text.slice(0, dot), text.slice(dot + 1)];
  const fits = (part: string): boolean =>
    part !== '' && Buffer.byteLength(part) <= nameBytesMax && !/\p{Cc}/u.test(part) && part.isWellFormed();
  return dot > 0 && fits(schema) && fits(name) ? { schema, name } : undefined;
}

export function fullNameOf({ schema, name }: TableName): string {
  return `${schema}.${name}`;
}

/** The quoted name for a statement. */
export function quoted({ schema, name }: TableName): string {
  return `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
}

/** System tables are never shown, not even if they are allowed by name. */
export function isOfSystem({ schema }: TableName): boolean {
  return schema === 'information_schema' || schema.startsWith('pg_');
}

/** Which tables may be read. Null: all but the system's. */
export class AllowedTables {
  readonly names: readonly TableName[] | null;
  readonly #texts: ReadonlySet<string> | null;

  constructor(texts: readonly string[] | null) {
    this.#texts = texts === null ? null : new Set(texts);
    this.names = texts === null ? null : texts.map(tableNameOf).filter((name) => name !== undefined);
  }

  /** A schema name that contains a dot looks like another table; it is matched by how it would be parsed. */
  has(table: TableName): boolean {
    if (isOfSystem(table)) return false;
    if (this.#texts === null) return true;
    return !table.schema.includes('.') && this.#texts.has(fullNameOf(table));
  }

  /** As two statement parameters: the schemas and the names, or null twice. */
  get parameters(): readonly [readonly string[], readonly string[]] | readonly [null, null] {
    if (this.names === null) return [null, null];
    return [this.names.map(({ schema }) => schema), this.names.map(({ name }) => name)];
  }
}
