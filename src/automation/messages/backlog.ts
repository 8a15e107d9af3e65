import { Gauge, type Registry } from 'prom-client';
import { type Time, within } from '../../../cluster/index.js';

/** Rows that wait, of those that one look reads. */
export interface Waiting {
  readonly count: number;
  /** Since it was accepted; 0 if none waits. */
  readonly oldestMs: number;
  /** Since some process should have handled it; 0 if each has one, or waits for its next attempt or for people. */
  readonly overdueMs: number;
}

export interface BacklogParts {
  readonly time: Time;
  readonly inbox: () => Promise<Waiting>;
  readonly deliveries: () => Promise<Waiting>;
  readonly report: (attempted: string, error: unknown) => void;
}

/** A scrape gets figures that are at most this old, so that many scrapes cost no more queries than one. */
const freshMs = 10_000;
/** A scrape does not wait longer for PostgreSQL; it then gets the figures of the look before. */
const waitMsMax = 1_000;
const none: Waiting = { count: 0, oldestMs: 0, overdueMs: 0 };

/** Messages and answers that wait in the database, read when somebody asks for metrics. Every node tells the same. */
export class Backlog {
  readonly #parts: BacklogParts;
  #figures = { inbox: none, deliveries: none };
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;
  #isAway = false;
  #stopped = false;

  constructor(registry: Registry, parts: BacklogParts) {
    this.#parts = parts;
    const gauge = (name: string, help: string, read: () => number): void => {
      const looked = (): Promise<void> => this.#look();
      const made = new Gauge({
        name: `troupe_triggers_${name}`,
        help,
        registers: [],
        async collect() {
          await looked();
          this.set(read());
        },
      });
      registry.registerMetric(made);
    };
    const kinds = {
      inbox: 'Accepted messages that have not ended',
      deliveries: 'Answers not delivered yet',
    } as const;
    for (const kind of ['inbox', 'deliveries'] as const) {
      const read = (): Waiting => this.#figures[kind];
      gauge(`${kind}_waiting`, `${kinds[kind]}, of all nodes; at most 10,000`, () => read().count);
      gauge(`${kind}_oldest_seconds`, 'Age of the oldest of these', () => read().oldestMs / 1_000);
      gauge(
        `${kind}_overdue_seconds`,
        'How long the longest overdue of these has waited for a process to handle it',
        () => read().overdueMs / 1_000,
      );
    }
  }

  /** The store is about to close: the figures stay as they are. */
  stop(): void {
    this.#stopped = true;
  }

  async #look(): Promise<void> {
    const { time } = this.#parts;
    if (this.#stopped || time.monotonicMs() - this.#lookedAtMs < freshMs) return;
    this.#looking ??= this.#read().finally(() => {
      this.#looking = undefined;
    });
    await within(time, waitMsMax, this.#looking, () => undefined);
  }

  async #read(): Promise<void> {
    const { time, inbox, deliveries, report } = this.#parts;
    try {
      const [ofInbox, ofDeliveries] = await Promise.all([inbox(), deliveries()]);
      this.#figures = { inbox: ofInbox, deliveries: ofDeliveries };
      this.#isAway = false;
    } catch (error) {
      if (!this.#isAway) report('counting waiting messages for the metrics', error);
      this.#isAway = true;
    }
    this.#lookedAtMs = time.monotonicMs();
  }
}
