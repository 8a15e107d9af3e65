import { Gauge, Registry } from 'prom-client';
import { CounterFamily, HistogramFamily, type TenantLabels } from '../../infra/diagnostics/index.js';
import type { ExecutionRow } from './rows.js';

const seconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 900];

export interface TurnMeasuresParts {
  readonly tenants: TenantLabels;
  /** The turns that this node works on. */
  readonly running: () => number;
}

/** What the turns of this node's sessions do, for `/metrics`. */
export class TurnMeasures {
  readonly #registry = new Registry();
  readonly #tenants: TenantLabels;
  readonly #started = new CounterFamily(
    this.#registry,
    'troupe_turns_started_total',
    'Turns that began; `again`: after a process was lost, or a wait for an approval',
    ['begin'],
  );
  readonly #ended = new CounterFamily(
    this.#registry,
    'troupe_turns_ended_total',
    'Turns that ended, by outcome',
    ['outcome'],
  );
  readonly #duration = this.#histogram(
    'duration_seconds',
    'Time of a turn from its start to its end',
    'outcome',
  );
  readonly #firstEvent = this.#histogram(
    'first_event_seconds',
    'Time from the acceptance of a turn to the first event of its work, with the wait in the queue of its session',
  );
  readonly #firstToken = this.#histogram(
    'first_token_seconds',
    'Time of a turn from its start to the first piece of its answer',
  );
  readonly #ofTenants = new CounterFamily(
    this.#registry,
    'troupe_tenant_turns_total',
    'Ended turns of the busiest tenants',
    ['tenant', 'outcome'],
  );

  constructor({ tenants, running }: TurnMeasuresParts) {
    this.#tenants = tenants;
    tenants.onLeave((tenantId) => this.#ofTenants.drop(tenantId));
    const gauge = new Gauge({
      name: 'troupe_turns_running',
      help: 'Turns that this node works on',
      registers: [],
      collect() {
        this.set(running());
      },
    });
    this.#registry.registerMetric(gauge);
  }

  /** `waitedMs` counts from the acceptance. */
  began(begin: 'first' | 'again', waitedMs: number): void {
    this.#started.add(1, begin);
    if (begin === 'first') this.#firstEvent.observe(Math.max(0, waitedMs) / 1_000);
  }

  ended({ tenant_id: tenantId, outcome, latency_ms: ms, first_token_ms: firstMs }: EndedTurn): void {
    if (outcome === null) return;
    this.#ended.add(1, outcome);
    this.#ofTenants.add(1, this.#tenants.of(tenantId), outcome);
    this.#duration.observe((ms ?? 0) / 1_000, outcome);
    if (firstMs !== null) this.#firstToken.observe(firstMs / 1_000);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #histogram(name: string, help: string, ...labels: string[]): HistogramFamily {
    return new HistogramFamily(this.#registry, `troupe_turns_${name}`, help, labels, seconds);
  }
}

type EndedTurn = Pick<ExecutionRow, 'tenant_id' | 'outcome' | 'latency_ms' | 'first_token_ms'>;
