import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { LatencyHistogram } from './latency-histogram.js';

/** The product's metrics, in the Prometheus format. */
export class Metrics {
  readonly registry = new Registry();
  readonly #sources: (() => string | Promise<string>)[] = [];
  readonly requests: LatencyHistogram;
  readonly shed: Counter;

  constructor(sources: { readonly runningRequests: () => number; readonly lagMs: () => number }) {
    collectDefaultMetrics({ register: this.registry, prefix: 'troupe_' });
    this.requests = new LatencyHistogram(
      'troupe_http_request_duration_seconds',
      'Time from a request to the end of its answer, by operation and status',
      ['operation', 'status'],
    );
    this.registry.registerMetric(this.requests as never);
    this.shed = new Counter({
      name: 'troupe_http_requests_shed_total',
      help: 'Requests refused because of event loop lag',
      registers: [this.registry],
    });
    gauge(this.registry, 'troupe_http_requests_running', 'Requests being answered', sources.runningRequests);
    gauge(this.registry, 'troupe_event_loop_lateness_ms', 'Lag of the event loop', sources.lagMs);
  }

  /** Adds metrics that another component keeps itself, as text in the Prometheus format. */
  add(source: () => string | Promise<string>): void {
    this.#sources.push(source);
  }

  async text(): Promise<string> {
    const parts = [() => this.registry.metrics(), ...this.#sources].map(async (source) => source());
    return (await Promise.all(parts)).join('\n');
  }
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  const made = new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(read());
    },
  });
  registry.registerMetric(made);
}
