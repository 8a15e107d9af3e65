import { Gauge, type Registry } from 'prom-client';
import { type Time, within } from '../../../cluster/index.js';

/** Rows that wait, of those that one look reads. */
export interface Waiting {
  readonly count: number;
  /** 0 if none waits. */
  readonly oldestMs: number;
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
const none: Waiting = { count: 0, oldestMs: 0 };

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
    gauge(
      'inbox_waiting',
      'Accepted messages that have not ended, in the whole cluster; at most 10,000',
      () => this.#figures.inbox.count,
    );
    gauge(
      'inbox_oldest_seconds',
      'Age of the oldest of these messages',
      () => this.#figures.inbox.oldestMs / 1_000,
    );
    gauge(
      'deliveries_waiting',
      'Answers that are not delivered yet, in the whole cluster; at most 10,000',
      () => this.#figures.deliveries.count,
    );
    gauge(
      'deliveries_oldest_seconds',
      'Age of the oldest of these answers',
      () => this.#figures.deliveries.oldestMs / 1_000,
    );
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
