// Databases of tenants: their configurations, their schemas, and reading from them.
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Egress } from '../../infra/egress/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Operation } from '../../http/operations/index.js';
import type { Platform } from '../../infra/platform/index.js';
import type { Vault } from '../../tenancy/vault/index.js';
import { Configurations } from './configurations.js';
import { Connections } from './connection/connections.js';
import { type DatabaseReader, openReader } from './database-reader.js';
import { configurationOperations } from './operations.js';
import { readingOperations } from './reading-operations.js';
import { findSecretReferences } from './secret-references.js';

export { fullNameOf, quoted, type TableName, tableNameOf } from './catalogue/table-name.js';
export { DatabaseError, type DatabaseFailure } from './connection/database-error.js';
export type {
  DatabaseListeners,
  DatabaseListener,
  DatabaseReader,
  Selection,
  TextRow,
} from './database-reader.js';

export interface DatabasesOptions {
  readonly vault: Pick<Vault, 'keep' | 'resolve' | 'putOwned' | 'deleteOwned' | 'addReferenceFinder'>;
  readonly egress: Pick<Egress, 'checkHost' | 'connectGuarded' | 'startTls'>;
}

export interface Databases {
  readonly operations: readonly Operation[];
  /**
   * Opens a configured, active database for reading. Throws `not_found` if it does not exist, `conflict` if it is not
   * active, `DatabaseError` if it cannot be reached.
   */
  connect(scope: TenantScope, configId: string): Promise<DatabaseReader>;
  /** Aborts running reads and closes every connection. */
  close(): Promise<void>;
}

export function createDatabases(
  { store, time, ids }: Pick<Platform, 'store' | 'time' | 'ids'>,
  { vault, egress }: DatabasesOptions,
): Databases {
  vault.addReferenceFinder(findSecretReferences);
  const configurations = new Configurations({ store, vault, egress, time, ids });
  const connections = new Connections({ egress, time });
  return {
    operations: [
      ...configurationOperations(configurations),
      ...readingOperations({ configurations, connections, store, vault, time }),
    ],
    connect: async (scope, configId) => {
      const readable = await configurations.readable(scope, configId);
      const { isActive, target, allowed } = readable;
      if (!isActive) {
        throw new PlatformError('conflict', {
          message: 'The database configuration is not active. Activate it first.',
        });
      }
      const isCurrent = () => configurations.isUnchanged(scope, readable);
      return openReader(connections, scope, target, allowed, isCurrent, (delayMs, action) =>
        time.after(delayMs, action),
      );
    },
    close: () => connections.close(),
  };
}
