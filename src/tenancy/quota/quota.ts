import type { Admission, Admitted, Operation } from '../../http/operations/index.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import type { TenantLimits } from '../../kernel/caller.js';
import type { PlatformError } from '../../kernel/errors.js';
import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { CountedKey } from './admission.js';
import type { AppliedBudget } from './budgets.js';
import type { CostClaim, CostSettlement } from './cost-ledger.js';
import type { TokenRequest, TokenSettlement } from './tokens.js';

export interface Quota {
  readonly operations: readonly Operation[];
  readonly admission: Admission;
  /** Admits model work without a caller, such as a webhook's: counts the tenant's windows and the key's lifetime quota. */
  admitTenantWork(scope: TenantScope, limits: TenantLimits, key?: CountedKey): Ready<Admitted>;
  /** The refusal if the tenant's tokens of the month are used up. Counts nothing. */
  monthlyRefusal(scope: TenantScope, limits: TenantLimits): Ready<PlatformError | undefined>;
  /**
   * Reserves tokens of the month before a vendor is asked. Returns the refusal if the tenant has none left. The
   * reservation ends with `settleTokens`, at its deadline, or with this process.
   */
  reserveTokens(scope: TenantScope, request: TokenRequest): Ready<PlatformError | undefined>;
  /** Called after the attempt's row was closed and committed. */
  settleTokens(scope: TenantScope, settlement: TokenSettlement): void;
  /**
   * Reserves the cost of an attempt before its vendor is asked, or returns the refusal if a budget is spent. The attempt
   * must have its row within `openingMsMax` after this was called, without the time waited, or is not made.
   */
  reserveCost(
    scope: TenantScope,
    claim: Omit<CostClaim, 'process'>,
  ): Promise<PlatformError | { readonly waitedMs: number }>;
  /** Called after the attempt's row was closed and committed. */
  settleCost(scope: TenantScope, settlement: CostSettlement): void;
  /** The refusal if one of the budgets is spent. Counts nothing. */
  budgetRefusal(scope: TenantScope, budgets: readonly AppliedBudget[]): Promise<PlatformError | undefined>;
  /** Adds used tokens in the transaction that records their use; `tokensBooked` is called after its commit. */
  addTokens(tx: TenantTransaction, at: Date, tokens: number): Promise<void>;
  tokensBooked(scope: TenantScope): void;
  /** Sends what is queued for other nodes; call it while they can still be reached. */
  flush(): Promise<void>;
  /** Returns the unused parts of blocks. */
  stop(): Promise<void>;
}
