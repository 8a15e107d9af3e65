import { type ExportSource, keysetSource } from '../../http/exports/index.js';
import type { Store } from '../../infra/storage/index.js';
import { walkLog } from './log.store.js';
import { entryOf } from './reports.js';
import { logEntry } from './shapes.js';

/** The model calls, as the log lists them. */
export function callsExport(store: Store): ExportSource {
  return keysetSource({
    columns: Object.keys(logEntry.shape),
    read: (scope, range, after: { at: Date; id: string } | undefined, limit) =>
      store.inTenant(scope, (tx) => walkLog(tx, range, after, limit)),
    keyOf: ({ started_at: at, call_id: id }) => ({ at, id }),
    exported: (rows) => rows.map(entryOf),
  });
}
