// Quota's face: admission of requests and model work, and the tokens of the month.
import type { Time } from '../../cluster/index.js';
import type { TenantLimits } from '../context/caller.js';
import type { TenantScope } from '../context/tenant-scope.js';
import type { PlatformError } from '../errors.js';
import type { Admission, Admitted, Operation } from '../operations/index.js';
import type { Store, TenantTransaction } from '../storage/index.js';
import { LocalAdmission } from './admission.js';
import { monthOf, nextMonthMs } from './calendar.js';
import { Grants } from './grants.js';
import { PostgresGrants } from './grants.store.js';
import { addToMonth, readMonth } from './monthly-usage.store.js';
import { MonthlyUsage } from './monthly-usage.js';
import { quotaOperations } from './operations.js';
import { quotaExceeded } from './refusals.js';

export { monthOf } from './calendar.js';
export { monthsAddedFrom } from './monthly-usage.store.js';

export interface QuotaDependencies {
  readonly store: Store;
  readonly time: Time;
  readonly dailyLimits: boolean;
  /** Told of failures that no request waits for. */
  readonly report: (attempted: string, error: unknown) => void;
  /** The bound of each kind of window and count in memory. */
  readonly tenantsMax?: number;
}

export interface Quota {
  readonly operations: readonly Operation[];
  readonly admission: Admission;
  /** Model work that no caller asked for, such as a webhook's: counts the tenant's windows. */
  admitTenantWork(scope: TenantScope, limits: TenantLimits): Admitted | Promise<Admitted>;
  /** The refusal of a tenant whose tokens of the month are used up. Nothing is counted. */
  monthlyRefusal(
    scope: TenantScope,
    limits: TenantLimits,
  ): PlatformError | undefined | Promise<PlatformError | undefined>;
  /** Books tokens in the transaction that records what they were used for; `tokensBooked` follows its commit. */
  bookTokens(tx: TenantTransaction, at: Date, tokens: number): Promise<void>;
  tokensBooked(scope: TenantScope): void;
  /** Gives back what was booked ahead. */
  stop(): Promise<void>;
}

const tidyEveryMs = 10_000;

export function createQuota(dependencies: QuotaDependencies): Quota {
  const { store, time, dailyLimits, report, tenantsMax = 100_000 } = dependencies;
  const grantOptions = { time, report, countsMax: tenantsMax };
  const days = new Grants(new PostgresGrants(store, 'day'), grantOptions);
  const lives = new Grants(new PostgresGrants(store, 'key'), grantOptions);
  const admission = new LocalAdmission({ time, days, lives, dailyLimits, windowsMax: tenantsMax });
  const usage = new MonthlyUsage((scope, month) => readMonth(store, scope, month), { time, tenantsMax });

  const tidy = (): void => {
    admission.dropIdle();
    timer = time.after(tidyEveryMs, tidy);
  };
  let timer = time.after(tidyEveryMs, tidy);

  const refusalAt = (limits: TenantLimits, used: number): PlatformError | undefined => {
    const limit = limits.monthlyTokens;
    if (used < limit) return undefined;
    const now = { monotonicMs: time.monotonicMs(), wallMs: time.wallMs() };
    return quotaExceeded({ limit, used }, nextMonthMs(now.wallMs), now).refusal;
  };

  return {
    operations: quotaOperations(usage, time),
    admission,
    admitTenantWork: (scope, limits) => admission.admitTenantWork(scope, limits),
    monthlyRefusal(scope, limits) {
      const used = usage.used(scope);
      return typeof used === 'number'
        ? refusalAt(limits, used)
        : used.then((later) => refusalAt(limits, later));
    },
    bookTokens: (tx, at, tokens) => addToMonth(tx, monthOf(at.getTime()), tokens),
    tokensBooked: (scope) => usage.changed(scope),
    async stop() {
      timer.cancel();
      await Promise.all([days.stop(), lives.stop()]);
    },
  };
}
