import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Store } from '../../infra/storage/index.js';
import { dropHold, PostgresGrants } from './grants.store.js';
import type { GrantStore } from './grants.js';
import { readMonth } from './monthly-usage.store.js';
import type { Reservation } from './token-ledger.js';

/** The rows that quota reads and writes without its fence. The ledger of attempts belongs to usage. */
export interface QuotaRows {
  grants(kind: 'day' | 'key'): GrantRows;
  /** Used tokens of the month that begins on `month`. */
  readMonth(scope: TenantScope, month: string): Promise<number>;
  dropHold(scope: TenantScope, epoch: number): Promise<void>;
  /** Running attempts that the platform pays for, with their reservations. */
  openAttempts(scope: TenantScope): Promise<readonly Reservation[]>;
}

export interface GrantRows extends GrantStore {
  clearDaysBefore(scope: TenantScope, day: string): Promise<void>;
}

export function postgresRows(store: Store, openAttempts: QuotaRows['openAttempts']): QuotaRows {
  return {
    grants: (kind) => new PostgresGrants(store, kind),
    readMonth: (scope, month) => readMonth(store, scope, month),
    dropHold: (scope, epoch) => dropHold(store, scope, epoch),
    openAttempts,
  };
}
