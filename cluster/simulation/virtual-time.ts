import { Heap } from '../time/heap.js';
import type { Random, Time, Timer } from '../time/time.js';

interface Event {
  readonly atMs: number;
  readonly order: number;
  action: (() => void) | undefined;
}

/** A clock that only the test advances. Events of one instant run in the order of their scheduling. */
export class VirtualTime implements Time {
  readonly #events = new Heap<Event>(
    (one, other) => one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order),
  );
  #nowMs = 0;
  #order = 0;
  #ran = 0;
  /** Runs after each event and the promise jobs that it caused. */
  afterEach: (() => void) | undefined;

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  after(delayMs: number, action: () => void): Timer {
    const event: Event = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order, action };
    this.#order += 1;
    this.#events.push(event);
    return {
      cancel() {
        event.action = undefined;
      },
    };
  }

  soon(action: () => void): void {
    this.after(0, action);
  }

  get eventsRun(): number {
    return this.#ran;
  }

  /** Runs all events of the next `durationMs`, including the promise jobs that they cause. */
  async advance(durationMs: number): Promise<void> {
    const untilMs = this.#nowMs + durationMs;
    await settle();
    for (
      let event = this.#events.peek();
      event !== undefined && event.atMs <= untilMs;
      event = this.#events.peek()
    ) {
      this.#events.pop();
      if (event.action === undefined) continue;
      this.#nowMs = Math.max(this.#nowMs, event.atMs);
      this.#ran += 1;
      event.action();
      await settle();
      this.afterEach?.();
    }
    this.#nowMs = untilMs;
  }

  /** Advances in small steps until `holds`; throws after `boundMs`. */
  async until(holds: () => boolean, boundMs: number, stepMs = 10): Promise<void> {
    for (let passedMs = 0; !holds(); passedMs += stepMs) {
      if (passedMs > boundMs) throw new Error(`the condition did not hold within ${boundMs} virtual ms`);
      await this.advance(stepMs);
    }
  }
}

/** All promise jobs of the last event run before an immediate does. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Mulberry32: small, and identical on every machine for a given seed. */
export class SeededRandom implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let value = this.#state;
    value = Math.imul(value ^ (value >>> 15), value | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  id(): string {
    let text = '';
    for (let part = 0; part < 4; part += 1) {
      text += Math.floor(this.fraction() * 0x1_0000_0000)
        .toString(16)
        .padStart(8, '0');
    }
    return text;
  }

  /** An integer in [from, to]. */
  between(from: number, to: number): number {
    return from + Math.floor(this.fraction() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.fraction() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}
