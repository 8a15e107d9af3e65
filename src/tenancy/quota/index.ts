// The public interface of quota: admission of requests and model work, and the tokens of the month.
import type { Time } from '../../../cluster/index.js';
import type { Platform } from '../../infra/platform/index.js';
import type { Actors } from '../../infra/runtime/index.js';
import type { TenantLimits } from '../../kernel/caller.js';
import { type Ready, whenReady } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import { LocalAdmission } from './admission.js';
import { monthOf, nextMonthMs } from './calendar.js';
import { budgetSpent, startOf } from './budgets.js';
import { type BudgetThreshold, type CostRows, noCosts, postgresCosts } from './cost-rows.js';
import { type Costs, OwnCosts } from './costs.js';
import { countTogether } from './count-together.js';
import { Grants } from './grants.js';
import { addToMonth } from './monthly-usage.store.js';
import { MonthlyUsage } from './monthly-usage.js';
import { quotaOperations } from './operations.js';
import type { QuotaCommits } from './quota.actor.js';
import { quotaTables } from './quota-actor.store.js';
import type { QuotaActors } from './quota-host.js';
import { postgresRows, type QuotaRows } from './quota-rows.store.js';
import type { Quota } from './quota.js';
import { countRefusals, type RefusalMeasures } from './refusal-measures.js';
import { quotaExceeded } from './refusals.js';
import { FencedGrants, Residents } from './residents.js';
import type { Reserved } from './token-ledger.js';
import type { WindowExchange } from './window-exchange.js';
import { OwnTokens, type Tokens } from './tokens.js';

export { dayOf, monthOf } from './calendar.js';
export { type AppliedBudget, appliedBudget } from './budgets.js';
export { type CostClaim, type CostReservation, openingMsMax } from './cost-ledger.js';
export { costRemovals, forgetCosts } from './costs.store.js';
export type { BudgetThreshold } from './cost-rows.js';
export { ClientWindows } from './client-windows.js';
export { FailedCredentials } from './failed-credentials.js';
export { type ExchangeCounts, WindowExchange } from './window-exchange.js';
export type { Quota } from './quota.js';
export { RefusalMeasures } from './refusal-measures.js';
export { SlidingWindow } from './sliding-window.js';
export { costAddedFrom, costsAddedFrom, monthAddedFrom, monthsAddedFrom } from './monthly-usage.store.js';
export type { Reservation } from './token-ledger.js';
export type { TokenSettlement, TokenRequest } from './tokens.js';

interface CountingSettings {
  readonly time: Time;
  readonly dailyLimits: boolean;
  /** Receives failures of background work. */
  readonly report: (attempted: string, error: unknown) => void;
  /** The maximum of each kind of window and count in memory. */
  readonly tenantsMax?: number;
  /** With it, all nodes count users and addresses together. */
  readonly exchange?: WindowExchange | undefined;
}

export interface QuotaOptions {
  readonly openAttempts: QuotaRows['openAttempts'];
  /** For budgets: the open attempts with their costs, and who is told of thresholds. Absent: none are counted. */
  readonly budgets?:
    | {
        readonly openCosts: CostRows['openCosts'];
        readonly tell: (tx: TenantTransaction, reached: BudgetThreshold) => Promise<() => void>;
      }
    | undefined;
  readonly dailyLimits: boolean;
  /** The maximum of each kind of window and count in memory. */
  readonly tenantsMax?: number;
  /** With it, all nodes count users and addresses together. */
  readonly exchange?: WindowExchange | undefined;
  /** With actors one node counts each tenant and its keys for all nodes; without them this process counts for itself. */
  readonly actors?: Actors;
  /** Counts refusals for `/metrics`; absent: nothing is counted. */
  readonly measures?: RefusalMeasures | undefined;
}

/** The same settings with a store of the rows. */
export interface QuotaParts extends CountingSettings {
  readonly rows: QuotaRows;
  /** Absent: no budgets are counted. */
  readonly costRows?: CostRows | undefined;
  readonly together?: { readonly actors: QuotaActors; readonly commits: QuotaCommits };
}

const tidyEveryMs = 10_000;

export function createQuota(
  { store, time, log }: Pick<Platform, 'store' | 'time' | 'log'>,
  { actors, openAttempts, budgets, measures, ...options }: QuotaOptions,
): Quota {
  const quota = countOver({
    ...options,
    time,
    report: log.report,
    rows: postgresRows(store, openAttempts),
    ...(budgets !== undefined && { costRows: postgresCosts(store, budgets.openCosts, budgets.tell) }),
    ...(actors !== undefined && { together: { actors, commits: actors.commits(quotaTables) } }),
  });
  return measures === undefined ? quota : countRefusals(quota, measures);
}

export function countOver(parts: QuotaParts): Quota {
  const { rows, costRows = noCosts, time, dailyLimits, report, exchange, tenantsMax = 100_000 } = parts;
  const residents = new Residents();
  const grants = (kind: 'day' | 'key'): Grants => {
    const own = rows.grants(kind);
    return new Grants(parts.together === undefined ? own : new FencedGrants(residents, own, kind), {
      time,
      report,
      countsMax: tenantsMax,
    });
  };
  const days = grants('day');
  const lives = grants('key');
  const counts = new LocalAdmission({ time, days, lives, dailyLimits, exchange, windowsMax: tenantsMax });
  const usage = new MonthlyUsage((scope, month) => rows.readMonth(scope, month), {
    time,
    tenantsMax,
    freshMs: parts.together === undefined ? 1_000 : freshElsewhereMs,
  });
  const tidy = (): void => {
    counts.dropIdle();
    timer = time.after(tidyEveryMs, tidy);
  };
  let timer = time.after(tidyEveryMs, tidy);

  const together =
    parts.together === undefined
      ? undefined
      : countTogether({ ...parts.together, counts, residents, rows, costRows, time, report });
  const tokens: Tokens = together?.tokens ?? new OwnTokens({ rows, time, tenantsMax });
  const costs: Costs = together?.costs ?? new OwnCosts({ rows: costRows, time, report }, tenantsMax);
  const used = (scope: TenantScope): Ready<number> =>
    residents.get(scope)?.tokens.used() ?? usage.used(scope);
  const usedUp = (limits: TenantLimits, tokensUsed: number): PlatformError | undefined => {
    const limit = limits.monthlyTokens;
    if (tokensUsed < limit) return undefined;
    const now = { monotonicMs: time.monotonicMs(), wallMs: time.wallMs() };
    return quotaExceeded({ limit, used: tokensUsed }, nextMonthMs(now.wallMs), now).refusal;
  };
  const refusalOf = (limits: TenantLimits, reserved: Reserved): PlatformError | undefined => {
    if (reserved.outcome === 'used up') return usedUp(limits, reserved.used);
    return reserved.outcome === 'busy' ? restIsReserved() : undefined;
  };

  return {
    operations: quotaOperations(used, time),
    admission: together?.admission ?? counts,
    admitTenantWork: (scope, limits, key) =>
      (together?.admission ?? counts).admitTenantWork(scope, limits, key),
    monthlyRefusal: (scope, limits) =>
      whenReady(
        residents.get(scope)?.tokens.usedOf(limits.monthlyTokens) ?? usage.used(scope),
        (tokensUsed) => usedUp(limits, tokensUsed),
      ),
    reserveTokens: (scope, request) =>
      whenReady(tokens.reserve(scope, request), (reserved) => refusalOf(request.limits, reserved)),
    async reserveCost(scope, claim) {
      const reserved = await costs.reserve(scope, claim);
      if (reserved.outcome === 'reserved') return reserved;
      if (reserved.outcome === 'busy') return restIsReserved();
      const budget = claim.budgets[reserved.budget];
      return budget === undefined ? restIsReserved() : budgetSpent(budget, reserved.spent, time.wallMs());
    },
    settleCost: (scope, settlement) => costs.settle(scope, settlement),
    async budgetRefusal(scope, budgets) {
      for (const budget of budgets) {
        const wallMs = time.wallMs();
        const spent = await costRows.read(scope, budget, startOf(budget.period, wallMs));
        if (spent >= budget.limit) return budgetSpent(budget, spent, wallMs);
      }
      return undefined;
    },
    settleTokens(scope, settlement) {
      usage.changed(scope);
      tokens.settle(scope, settlement);
    },
    addTokens: (tx, at, tokens) => addToMonth(tx, monthOf(at.getTime()), tokens),
    tokensBooked: (scope) => usage.changed(scope),
    flush: async () => together?.flush(),
    async stop() {
      timer.cancel();
      await together?.stop();
      await Promise.all([days.stop(), lives.stop()]);
    },
  };
}

/** For tenants that another node counts: the maximum age of a read from the store, which has all earlier answers. */
const freshElsewhereMs = 200;

function restIsReserved(): PlatformError {
  return new PlatformError('service_unavailable', {
    message: 'Calls under way have reserved what is left of the month; retry when one of them has ended.',
    retryAfterSeconds: 2,
  });
}
