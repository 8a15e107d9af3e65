import type { LRUCache } from 'lru-cache';
import { recentEntries } from '../../kernel/recent-entries.js';
import { isReady } from '../../kernel/ready.js';
import type { Time } from '../../../cluster/index.js';
import { toPlatformError } from '../../infra/runtime/index.js';
import type { TenantLimits } from '../../kernel/caller.js';
import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import type { NodeQuotas } from './quota-host.js';
import type { QuotaRequests } from './quota-requests.js';
import type { QuotaRows } from './quota-rows.store.js';
import type { Residents } from './residents.js';
import { type Reserved, TokenLedger, type TokenClaim } from './token-ledger.js';
import { claimToWire, reservedFromWire } from './wire/tokens.js';

/** An attempt at a vendor that the platform pays for. */
export interface TokenRequest {
  readonly attemptId: string;
  /** The estimated maximum of its tokens. */
  readonly tokens: number;
  /** Its maximum duration. */
  readonly withinMs: number;
  readonly limits: TenantLimits;
  /** Part of admitted work, which may exceed the limit. */
  readonly alreadyAdmitted: boolean;
}

export interface TokenSettlement {
  readonly attemptId: string;
  /** The reserved tokens. */
  readonly reserved: number;
  /** The tokens of its closed row. */
  readonly tokens: number;
}

/** Reservations of the tokens of a month, regardless of the counting node. */
export interface Tokens {
  reserve(scope: TenantScope, request: TokenRequest): Ready<Reserved>;
  settle(scope: TenantScope, settlement: TokenSettlement): void;
}

/** Counted by this process for itself. */
export class OwnTokens implements Tokens {
  readonly #rows: QuotaRows;
  readonly #time: Time;
  readonly #ledgers: LRUCache<string, TokenLedger>;

  constructor(parts: { readonly rows: QuotaRows; readonly time: Time; readonly tenantsMax: number }) {
    this.#rows = parts.rows;
    this.#time = parts.time;
    this.#ledgers = recentEntries(parts.tenantsMax);
  }

  reserve(scope: TenantScope, request: TokenRequest): Ready<Reserved> {
    return this.#ledgerOf(scope).reserve(claimOf(request, 'here'));
  }

  settle(scope: TenantScope, { attemptId, reserved, tokens }: TokenSettlement): void {
    this.#ledgers.peek(scope.tenantId)?.settle(attemptId, reserved, tokens);
  }

  #ledgerOf(scope: TenantScope): TokenLedger {
    let ledger = this.#ledgers.get(scope.tenantId);
    if (ledger === undefined) {
      ledger = new TokenLedger({
        time: this.#time,
        read: (month) => this.#rows.readMonth(scope, month),
        hold: () => Promise.resolve(),
        inherited: { tokens: 0, forMs: 0 },
      });
      this.#ledgers.set(scope.tenantId, ledger);
    }
    return ledger;
  }
}

/** Longer than a call waits for the end of another one. */
const reserveMs = 15_000;

/** Counted by the tenant's quota actor. */
export class SharedTokens implements Tokens {
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

  reserve(scope: TenantScope, request: TokenRequest): Ready<Reserved> {
    const resident = this.#residents.get(scope);
    const asked = claimOf(request, this.#process);
    if (resident?.mayCount !== true) return this.#ask(scope, asked);
    const reserved = resident.tokens.reserve(asked);
    if (isReady(reserved)) return reserved;
    return reserved.catch((error: unknown) => {
      if (resident.ended) return this.#ask(scope, asked);
      throw new PlatformError('service_unavailable', { retryAfterSeconds: 1, cause: error });
    });
  }

  settle(scope: TenantScope, settlement: TokenSettlement): void {
    const resident = this.#residents.get(scope);
    if (resident === undefined) this.#questions.settle(scope, settlement);
    else resident.tokens.settle(settlement.attemptId, settlement.reserved, settlement.tokens);
  }

  async #ask(scope: TenantScope, claim: TokenClaim): Promise<Reserved> {
    try {
      const quota = this.#quotas.quotaOf(scope.tenantId);
      return reservedFromWire(await quota.reserve(claimToWire(claim), { deadlineMs: reserveMs }));
    } catch (error) {
      // The reservation may have been made all the same, for an attempt that will not run.
      this.#questions.settle(scope, { attemptId: claim.attemptId, reserved: 0, tokens: 0 });
      throw toPlatformError(error) ?? error;
    }
  }
}

function claimOf(
  { attemptId, tokens, withinMs, limits, alreadyAdmitted }: TokenRequest,
  process: string,
): TokenClaim {
  return {
    attemptId,
    process,
    tokens: Math.max(0, Math.ceil(tokens)),
    withinMs: Math.max(0, Math.ceil(withinMs)),
    monthlyLimit: limits.monthlyTokens,
    alreadyAdmitted,
  };
}
