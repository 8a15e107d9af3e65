import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { FoundPage } from '../../infra/storage/index.js';
import type { Range } from '../operations/index.js';

export type ExportedRow = Readonly<Record<string, unknown>>;

/** One kind of row that a tenant may take away, offered by the owner of the rows. */
export interface ExportSource {
  /** The fields, in the order of the columns. */
  readonly columns: readonly string[];
  /**
   * At most `limit` rows after `after`, and where the next ones begin; undefined at the end. A page is a transaction of its
   * own: a slow reader holds no snapshot.
   */
  page(
    scope: TenantScope,
    asked: { readonly range: Partial<Range>; readonly after: unknown; readonly limit: number },
  ): Promise<{ readonly rows: readonly ExportedRow[]; readonly after: unknown }>;
}

/** A source over a query of rows in the order of a key. */
export function keysetSource<Row, Key>(source: {
  readonly columns: readonly string[];
  readonly read: (
    scope: TenantScope,
    range: Partial<Range>,
    after: Key | undefined,
    limit: number,
  ) => Promise<readonly Row[] | FoundPage<Row>>;
  readonly keyOf: (row: Row) => Key;
  readonly exported: (
    rows: readonly Row[],
    scope: TenantScope,
  ) => readonly ExportedRow[] | Promise<readonly ExportedRow[]>;
}): ExportSource {
  return {
    columns: source.columns,
    async page(scope, { range, after, limit }) {
      // Only keys of this source come back here.
      const read = await source.read(scope, range, after as Key | undefined, limit);
      const { rows, hasMore } =
        'hasMore' in read ? read : { rows: read.slice(0, limit), hasMore: read.length >= limit };
      const last = hasMore ? rows.at(-1) : undefined;
      return {
        rows: await source.exported(rows, scope),
        after: last === undefined ? undefined : source.keyOf(last),
      };
    },
  };
}
