import { Counter, Histogram, Registry } from 'prom-client';
import { Backlog, type BacklogParts } from './backlog.js';
import type { TriggerType } from '../triggers/types/registry.js';

/** The result of an attempt to send an answer. */
export type AttemptFate = 'delivered' | 'delivery_failed' | 'repeated';

const secondsBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600];

/** What triggers do on this node, for `/metrics`. */
export class TriggerMeasures {
  readonly #registry = new Registry();
  readonly #accepted = this.#counter('accepted', 'Messages that were accepted', 'type');
  readonly #refused = this.#counter('refused', 'Refused webhooks by reason', 'reason');
  readonly #buffered = this.#counter('buffered', 'Messages that were put into a buffer');
  readonly #flushed = this.#counter('flushed', 'Buffers that became an execution');
  readonly #attempts = this.#counter(
    'delivery_attempts',
    'Attempts to send an answer, by outcome',
    'outcome',
  );
  readonly #failures = this.#counter('failures', 'Failures that are retried automatically', 'attempted');
  readonly #deliveryLag = this.#histogram(
    'delivery_lag_seconds',
    'Time from an answer to its delivery, including all chunks and attempts',
  );
  #backlog: Backlog | undefined;
  readonly #lateness = this.#histogram('schedule_lateness_seconds', 'How late schedules fired');

  accepted(type: TriggerType): void {
    this.#accepted.inc({ type });
  }

  /** `reason` is the code of a refusal, or the kind of sender block. */
  refused(reason: string): void {
    this.#refused.inc({ reason });
  }

  buffered(): void {
    this.#buffered.inc();
  }

  flushed(): void {
    this.#flushed.inc();
  }

  /** `lagMs` counts from the creation of the answer. */
  attempted(outcome: AttemptFate, lagMs: number): void {
    this.#attempts.inc({ outcome });
    if (outcome === 'delivered') this.#deliveryLag.observe(Math.max(0, lagMs) / 1_000);
  }

  fired(lateMs: number): void {
    this.#lateness.observe(Math.max(0, lateMs) / 1_000);
  }

  failed(attempted: string): void {
    this.#failures.inc({ attempted });
  }

  /** Adds the figures of waiting messages and answers. */
  addBacklog(parts: BacklogParts): void {
    this.#backlog = new Backlog(this.#registry, parts);
  }

  stop(): void {
    this.#backlog?.stop();
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #counter(name: string, help: string, ...labelNames: string[]): Counter {
    return new Counter({
      name: `troupe_triggers_${name}_total`,
      help,
      labelNames,
      registers: [this.#registry],
    });
  }

  #histogram(name: string, help: string): Histogram {
    return new Histogram({
      name: `troupe_triggers_${name}`,
      help,
      buckets: secondsBuckets,
      registers: [this.#registry],
    });
  }
}
