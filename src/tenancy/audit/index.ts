// The public interface of the audit: who changed what in a tenant.
import type { AuditTrail, Operation } from '../../http/operations/index.js';
import type { Platform } from '../../infra/platform/index.js';
import { type ExportSource, keysetSource } from '../../http/exports/index.js';
import { recordAudit } from './audit.store.js';
import { auditOperations } from './operations.js';
import { AuditReading, entryShape, type Names } from './reading.js';

export {
  type AuditEntry,
  forgetAuditEntries,
  forgetAuditedConsumer,
  forgetAuditOfDeleted,
  forgetPlatformAudit,
  recordAccountAudit,
  recordAudit,
} from './audit.store.js';

export { changedFields } from './changed-fields.js';

export interface Audit {
  readonly operations: readonly Operation[];
  /** Where the operations' table writes the entries that no subject wrote. */
  readonly trail: AuditTrail;
  readonly exported: ExportSource;
}

export function createAudit({ store, log }: Pick<Platform, 'store' | 'log'>, names: Names): Audit {
  const reading = new AuditReading(store, names);
  const trail: AuditTrail = {
    record: (scope, entry) =>
      store.inTenant(scope, (tx) => recordAudit(tx, { tenantId: scope.tenantId, ...entry })),
    async recordRefusal(scope, entry) {
      try {
        await store.inTenant(scope, (tx) =>
          recordAudit(tx, { tenantId: scope.tenantId, ...entry, outcome: 'refused' }),
        );
      } catch (error) {
        log.report('recording a refused attempt', error);
      }
    },
  };
  const exported = keysetSource({
    columns: Object.keys(entryShape.shape),
    read: (scope, range, after: { at: Date; id: string } | undefined, limit) =>
      reading.rows(scope, { ...range, after, limit }),
    keyOf: ({ recorded_at: at, id }) => ({ at, id }),
    exported: (rows, scope) => reading.entries(scope, rows),
  });
  return { operations: auditOperations(reading), trail, exported };
}
