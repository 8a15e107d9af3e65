import type { LRUCache } from 'lru-cache';
import { recentEntries } from '../../kernel/recent-entries.js';
import { toPlatformError } from '../../infra/runtime/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { CostClaim, CostLedger, CostReserved, CostSettlement } from './cost-ledger.js';
import { type CostLedgerOrigin, costLedgerOf } from './cost-rows.js';
import type { NodeQuotas } from './quota-host.js';
import type { QuotaRequests } from './quota-requests.js';
import type { Residents } from './residents.js';
import { costClaimToWire, costReservedFromWire, settlementToWire } from './wire/costs.js';

/** Reservations of costs, regardless of the counting node. */
export interface Costs {
  reserve(scope: TenantScope, claim: Omit<CostClaim, 'process'>): Promise<CostReserved>;
  settle(scope: TenantScope, settlement: CostSettlement): void;
}

/** Counted by this process for itself. */
export class OwnCosts implements Costs {
  readonly #parts: Pick<CostLedgerOrigin, 'rows' | 'time' | 'report'>;
  readonly #ledgers: LRUCache<string, CostLedger>;

  constructor(parts: Pick<CostLedgerOrigin, 'rows' | 'time' | 'report'>, tenantsMax: number) {
    this.#parts = parts;
    this.#ledgers = recentEntries(tenantsMax);
  }

  reserve(scope: TenantScope, claim: Omit<CostClaim, 'process'>): Promise<CostReserved> {
    let ledger = this.#ledgers.get(scope.tenantId);
    if (ledger === undefined) {
      ledger = costLedgerOf({ ...this.#parts, scope, mark: () => Promise.resolve(), inherited: false });
      this.#ledgers.set(scope.tenantId, ledger);
    }
    return ledger.reserve({ ...claim, process: 'here' });
  }

  settle(scope: TenantScope, settlement: CostSettlement): void {
    this.#ledgers.peek(scope.tenantId)?.settle(settlement);
  }
}

/** Longer than an owner waits for the rows of an earlier one. */
const reserveMs = 15_000;

/** Counted by the tenant's quota actor. */
export class SharedCosts implements Costs {
  readonly #quotas: NodeQuotas;
  readonly #residents: Residents;
  readonly #questions: QuotaRequests;
  readonly #process: string;

  constructor(quotas: NodeQuotas, residents: Residents, questions: QuotaRequests, process: string) {
    this.#quotas = quotas;
    this.#residents = residents;
    this.#questions = questions;
    this.#process = process;
  }

  async reserve(scope: TenantScope, given: Omit<CostClaim, 'process'>): Promise<CostReserved> {
    const claim = { ...given, process: this.#process };
    try {
      const resident = this.#residents.get(scope);
      if (resident?.mayCount === true) {
        const reserved = await resident.costs.reserve(claim);
        // An activation that ended while it decided may have a successor that does not know of the reservation.
        if (!resident.ended) return reserved;
      }
      const quota = this.#quotas.quotaOf(scope.tenantId);
      return costReservedFromWire(await quota.reserveCost(costClaimToWire(claim), { deadlineMs: reserveMs }));
    } catch (error) {
      // The reservation may have been made all the same, for an attempt that will not run.
      this.settle(scope, {
        attemptId: claim.attemptId,
        nanos: 0,
        keyId: claim.keyId,
        agentId: claim.agentId,
        day: undefined,
      });
      throw toPlatformError(error) ?? error;
    }
  }

  settle(scope: TenantScope, settlement: CostSettlement): void {
    const resident = this.#residents.get(scope);
    if (resident === undefined) this.#questions.settleCost(scope, settlementToWire(settlement));
    else resident.costs.settle(settlement);
  }
}
