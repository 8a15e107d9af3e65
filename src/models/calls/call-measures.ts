import { Gauge, Registry } from 'prom-client';
import {
  BoundedNames,
  CounterFamily,
  HistogramFamily,
  type TenantLabels,
} from '../../infra/diagnostics/index.js';
import { type AttemptReport, type BreakerState, costOf, type Usage } from '../../llm/index.js';

/** Models of aggregators and of compatible servers have any names; beyond this number they share the label `other`. */
const modelsMax = 200;
/** Seconds; an answer of a large model takes minutes. */
const durations = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300];
const firstSignals = [0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 5, 10, 20, 30, 60];

/** How a call ended for its caller; `cached`: without a vendor. */
export type CallResult = 'completed' | 'failed' | 'cancelled' | 'cached';

export interface CallMeasuresParts {
  readonly tenants: TenantLabels;
  /** The open breakers now, by vendor. */
  readonly openBreakers: () => ReadonlyMap<string, number>;
}

/**
 * What model calls do on this node, for `/metrics`. Attempts are counted where the ledger closes their rows, so both tell
 * the same tokens and cost.
 */
export class CallMeasures {
  readonly #registry = new Registry();
  readonly #tenants: TenantLabels;
  readonly #models = new BoundedNames(modelsMax);
  readonly #calls = this.#counter('calls', 'Model calls that have ended', 'provider', 'model', 'outcome');
  readonly #attempts = this.#counter('attempts', 'Requests to vendors, by outcome', 'provider', 'outcome');
  readonly #errors = this.#counter(
    'vendor_errors',
    'Failed requests to vendors, by kind',
    'provider',
    'kind',
    'payer',
  );
  readonly #tokens = this.#counter('tokens', 'Tokens; the kinds add up', 'provider', 'model', 'kind');
  readonly #cost = this.#counter('cost_usd', 'Cost of the tokens in dollars', 'provider', 'model', 'payer');
  readonly #cache = this.#counter('response_cache', 'Calls that looked into the response cache', 'result');
  readonly #moves = this.#counter('breaker_transitions', 'Changes of circuit breakers', 'provider', 'state');
  readonly #duration = this.#histogram('call_duration_seconds', 'Time of an attempt to its end', durations);
  readonly #first = this.#histogram(
    'first_token_seconds',
    'Time of an attempt to its first token',
    firstSignals,
  );
  readonly #tenantCalls: CounterFamily;
  readonly #tenantTokens: CounterFamily;
  readonly #tenantCost: CounterFamily;

  constructor({ tenants, openBreakers }: CallMeasuresParts) {
    this.#tenants = tenants;
    const counter = (name: string, help: string, ...labels: string[]): CounterFamily => {
      const family = new CounterFamily(this.#registry, `troupe_tenant_${name}_total`, help, [
        'tenant',
        ...labels,
      ]);
      tenants.onLeave((tenantId) => family.drop(tenantId));
      return family;
    };
    this.#tenantCalls = counter('llm_calls', 'Model calls of the busiest tenants', 'outcome');
    this.#tenantTokens = counter('llm_tokens', 'Tokens of the busiest tenants', 'kind');
    this.#tenantCost = counter('llm_cost_usd', 'Cost of the busiest tenants in dollars');
    const gauge = new Gauge({
      name: 'troupe_llm_breakers_open',
      help: 'Keys to vendors that are left out because of failures',
      labelNames: ['provider'],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [provider, count] of openBreakers()) this.set({ provider }, count);
      },
    });
    gauge.reset();
  }

  /** One request to a vendor has ended. */
  attempted(
    { target, outcome, error, usage, payer, durationMs, firstSignalMs }: AttemptReport,
    tenantId: string,
  ): void {
    const { vendor } = target.model;
    const model = this.#models.of(target.model.id);
    const tenant = this.#tenants.of(tenantId);
    this.#attempts.add(1, vendor, outcome);
    if (error !== undefined && outcome !== 'cancelled') this.#errors.add(1, vendor, error.failure, payer);
    this.#duration.observe(durationMs / 1_000, vendor, model);
    if (firstSignalMs !== undefined) this.#first.observe(firstSignalMs / 1_000, vendor, model);
    for (const [kind, tokens] of kindsOf(usage)) {
      if (tokens === 0) continue;
      this.#tokens.add(tokens, vendor, model, kind);
      this.#tenantTokens.add(tokens, tenant, kind);
    }
    const cost = costOf(usage, target.model.price);
    if (cost === 0) return;
    this.#cost.add(cost, vendor, model, payer);
    this.#tenantCost.add(cost, tenant);
  }

  /** A call has ended, whatever attempts it took. */
  ended(vendor: string, model: string, outcome: CallResult, tenantId: string): void {
    this.#calls.add(1, vendor, this.#models.of(model), outcome);
    this.#tenantCalls.add(1, this.#tenants.of(tenantId), outcome);
  }

  lookedUp(result: 'hit' | 'miss'): void {
    this.#cache.add(1, result);
  }

  moved(vendor: string, state: BreakerState): void {
    this.#moves.add(1, vendor, state);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #counter(name: string, help: string, ...labelNames: string[]): CounterFamily {
    return new CounterFamily(this.#registry, `troupe_llm_${name}_total`, help, labelNames);
  }

  #histogram(name: string, help: string, bounds: readonly number[]): HistogramFamily {
    return new HistogramFamily(this.#registry, `troupe_llm_${name}`, help, ['provider', 'model'], bounds);
  }
}

/** Disjoint, as the vendor bills them. */
function kindsOf(usage: Usage): readonly (readonly [string, number])[] {
  return [
    ['input', usage.inputUncached + usage.toolPrompt],
    ['cache_read', usage.cacheRead],
    ['cache_write', usage.cacheWrite5m + usage.cacheWrite1h],
    ['output', usage.outputVisible],
    ['reasoning', usage.reasoning],
  ];
}
