import type { Time } from '../../../cluster/index.js';
import type { Store, TenantTransaction } from '../../infra/storage/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { AppliedBudget } from './budgets.js';
import { CostLedger, type CostReservation } from './cost-ledger.js';
import { noteThreshold, readSpent } from './costs.store.js';

/** A threshold that the spending of a budget has reached. */
export interface BudgetThreshold {
  readonly budget: AppliedBudget;
  readonly percent: 80 | 100;
  readonly spent: number;
}

/** The rows of costs, and who is told of thresholds. */
export interface CostRows {
  /** What was spent in the period that begins on a day. */
  read(scope: TenantScope, budget: AppliedBudget, starts: string): Promise<number>;
  openCosts(scope: TenantScope): Promise<readonly CostReservation[]>;
  /** Once for each threshold of a limit and period, however many processes see it. */
  threshold(scope: TenantScope, starts: string, reached: BudgetThreshold): Promise<void>;
}

export function postgresCosts(
  store: Store,
  openCosts: CostRows['openCosts'],
  /** Tells the owners in the transaction that notes the threshold. The returned function follows its commit. */
  tell: (tx: TenantTransaction, reached: BudgetThreshold) => Promise<() => void>,
): CostRows {
  return {
    read: (scope, { scope: of, id, period }, starts) =>
      readSpent(store, scope, { scope: of, id, period, starts }),
    openCosts,
    async threshold(scope, starts, reached) {
      const { budget, percent } = reached;
      const told = await store.inTenant(scope, async (tx) => {
        const { scope: of, id, period, limit } = budget;
        const notice = { scope: of, id, period, starts, percent, limit };
        return (await noteThreshold(tx, notice)) ? tell(tx, reached) : undefined;
      });
      told?.();
    },
  };
}

/** No budgets are counted: for processes that make no model calls. */
export const noCosts: CostRows = {
  read: () => Promise.resolve(0),
  openCosts: () => Promise.resolve([]),
  threshold: () => Promise.resolve(),
};

export interface CostLedgerOrigin {
  readonly scope: TenantScope;
  readonly rows: CostRows;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
  readonly mark: () => Promise<void>;
  readonly inherited: boolean;
}

export function costLedgerOf({ scope, rows, time, report, mark, inherited }: CostLedgerOrigin): CostLedger {
  return new CostLedger({
    time,
    report,
    mark,
    inherited,
    read: (budget, starts) => rows.read(scope, budget, starts),
    recover: () => rows.openCosts(scope),
    onThreshold: (budget, starts, percent, spent) =>
      rows.threshold(scope, starts, { budget, percent, spent }),
  });
}
