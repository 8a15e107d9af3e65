import type { Store } from '../../infra/storage/index.js';
import { tenantScope } from '../../kernel/tenant-scope.js';
import { isOfAnother, removeOpen } from './open-attempts.store.js';
import { preparePartitions } from './partitions.store.js';
import { listOrphans, listProcesses, type OpenedRow, type Orphan } from './usage.store.js';

/** What the ledger reads and removes of its rows, besides what its writers write. */
export interface LedgerRows {
  /** The processes that have open rows. */
  processes(): Promise<readonly string[]>;
  /** Open rows after their deadline, or of a process that is gone; oldest first. */
  orphans(gone: readonly string[], rowsMax: number): Promise<readonly Orphan[]>;
  /** Removes the row of an attempt that was not made, if it is open. */
  remove(row: OpenedRow): Promise<void>;
  /** Whether another attempt has the row under the attempt's id. */
  isOfAnother(row: OpenedRow): Promise<boolean>;
  /** Creates the partitions that the coming calls need. */
  preparePartitions(now: Date): Promise<void>;
}

export function ledgerRows(store: Store): LedgerRows {
  return {
    processes: () => listProcesses(store),
    orphans: (gone, rowsMax) => listOrphans(store, gone, rowsMax),
    remove: (row) => store.inTenant(tenantScope(row.tenant_id), (tx) => removeOpen(tx, row)),
    isOfAnother: (row) => store.inTenant(tenantScope(row.tenant_id), (tx) => isOfAnother(tx, row)),
    preparePartitions: (now) => preparePartitions(store, now),
  };
}
