import { Registry } from 'prom-client';
import { CounterFamily, others, type TenantLabels } from '../../infra/diagnostics/index.js';
import type { Caller } from '../../kernel/caller.js';
import type { PlatformError } from '../../kernel/errors.js';
import { type Ready, whenReady } from '../../kernel/ready.js';
import type { Admitted } from '../../http/operations/index.js';
import type { Quota } from './quota.js';

/** What refused: a window of requests, a count over a life or a month, or a budget of money. */
type Reason =
  | 'rate_key'
  | 'rate_tenant'
  | 'rate_user'
  | 'rate_address'
  | 'key_quota'
  | 'month_tokens'
  | 'budget_key'
  | 'budget_agent'
  | 'budget_tenant'
  | 'reserved';

/** The refusals of the quota on this node, for `/metrics`. */
export class RefusalMeasures {
  readonly #registry = new Registry();
  readonly #tenants: TenantLabels;
  readonly #refusals = new CounterFamily(
    this.#registry,
    'troupe_quota_refusals_total',
    'Requests and calls refused by a limit, by the limit',
    ['reason'],
  );
  readonly #ofTenants = new CounterFamily(
    this.#registry,
    'troupe_tenant_quota_refusals_total',
    'Requests and calls of the busiest tenants refused by a limit',
    ['tenant', 'reason'],
  );
  readonly #alone = new CounterFamily(
    this.#registry,
    'troupe_window_exchanges_unanswered_total',
    'Exchanges of the counts of clients that got no answer, so that this node counted alone',
    [],
  );

  constructor(tenants: TenantLabels) {
    this.#tenants = tenants;
    tenants.onLeave((tenantId) => this.#ofTenants.drop(tenantId));
  }

  refused(reason: Reason, tenantId: string | undefined): void {
    this.#refusals.add(1, reason);
    this.#ofTenants.add(1, tenantId === undefined ? others : this.#tenants.of(tenantId), reason);
  }

  countedAlone(): void {
    this.#alone.add(1);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }
}

/** The same quota, whose refusals are counted where they are made. Admitted requests cost one more call. */
export function countRefusals(quota: Quota, measures: RefusalMeasures): Quota {
  const { admission } = quota;
  const admitted = (answer: Ready<Admitted>, reason: Reason, tenantId: string | undefined): Ready<Admitted> =>
    whenReady(answer, (given) => {
      if (given.refusal !== undefined) measures.refused(reasonOf(given.refusal, reason), tenantId);
      return given;
    });
  const refused = (
    answer: Ready<PlatformError | undefined>,
    tenantId: string,
  ): Ready<PlatformError | undefined> =>
    whenReady(answer, (refusal) => {
      if (refusal !== undefined) measures.refused(reasonOf(refusal, 'reserved'), tenantId);
      return refusal;
    });
  return {
    ...quota,
    admission: {
      admitRequest: (caller, rate) =>
        admitted(
          admission.admitRequest(caller, rate),
          rate === 'model-work' && caller.kind === 'tenant-user' ? 'rate_tenant' : windowOf(caller),
          tenantOf(caller),
        ),
      admitModelWork: (caller, ahead) =>
        admitted(admission.admitModelWork(caller, ahead), 'rate_tenant', tenantOf(caller)),
      noteRefusedWork: (caller, bodyBytes) => admission.noteRefusedWork(caller, bodyBytes),
      figuresOfAddress: (address) => admission.figuresOfAddress(address),
    },
    admitTenantWork: (scope, limits, key) =>
      admitted(quota.admitTenantWork(scope, limits, key), 'rate_tenant', scope.tenantId),
    monthlyRefusal: (scope, limits) => refused(quota.monthlyRefusal(scope, limits), scope.tenantId),
    reserveTokens: (scope, request) => refused(quota.reserveTokens(scope, request), scope.tenantId),
    async reserveCost(scope, claim) {
      const answer = await quota.reserveCost(scope, claim);
      if ('code' in answer) measures.refused(reasonOf(answer, 'reserved'), scope.tenantId);
      return answer;
    },
    async budgetRefusal(scope, budgets) {
      return refused(quota.budgetRefusal(scope, budgets), scope.tenantId);
    },
  };
}

function windowOf({ kind }: Caller): Reason {
  if (kind === 'key') return 'rate_key';
  return kind === 'anonymous' || kind === 'operator' ? 'rate_address' : 'rate_user';
}

function tenantOf(caller: Caller): string | undefined {
  return 'scope' in caller ? caller.scope.tenantId : undefined;
}

/** `window` is what a refusal of a rate means at this place. */
function reasonOf({ code, details }: PlatformError, window: Reason): Reason {
  if (code !== 'quota_exceeded') return window;
  const { kind, scope, reset_date: resetDate } = details ?? {};
  if (kind === 'budget')
    return scope === 'key' ? 'budget_key' : scope === 'agent' ? 'budget_agent' : 'budget_tenant';
  // The lifetime count of a key never resets.
  return resetDate === null ? 'key_quota' : 'month_tokens';
}
