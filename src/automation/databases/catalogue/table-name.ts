import pg from 'pg';

export interface TableName {
  readonly schema: string;
  readonly name: string;
}

/** Of a schema and a table each, as PostgreSQL cuts them. */
const nameBytesMax = 63;

/** `schema.table`; the first dot parts the two, so that one text never means two tables. */
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

/** As a statement names it. */
export function quoted({ schema, name }: TableName): string {
  return `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
}

/** Tables of the system are shown to nobody, not even where they are named. */
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

  /** Names with a dot in the schema are written like another table's; they are known by what they would be read as. */
  has(table: TableName): boolean {
    if (isOfSystem(table)) return false;
    if (this.#texts === null) return true;
    return !table.schema.includes('.') && this.#texts.has(fullNameOf(table));
  }

  /** As two parameters of a statement: the schemas and the names, or null twice. */
  get parameters(): readonly [readonly string[], readonly string[]] | readonly [null, null] {
    if (this.names === null) return [null, null];
    return [this.names.map(({ schema }) => schema), this.names.map(({ name }) => name)];
  }
}
