import { type ExportSource, keysetSource } from '../../http/exports/index.js';
import type { Store } from '../../infra/storage/index.js';
import { attemptColumns, walkAttempts } from './exports.store.js';

/** The rows of the ledger. */
export function usageExport(store: Store): ExportSource {
  return keysetSource({
    columns: attemptColumns,
    read: (scope, range, after: { at: Date; id: string } | undefined, limit) =>
      store.inTenant(scope, (tx) => walkAttempts(tx, range, after, limit)),
    keyOf: ({ opened_at: at, attempt_id: id }) => ({ at, id }),
    exported: (rows) =>
      rows.map((row) => ({
        ...row,
        opened_at: row.opened_at.toISOString(),
        closed_at: row.closed_at?.toISOString() ?? null,
      })),
  });
}
