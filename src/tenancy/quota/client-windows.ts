import type { Time } from '../../../cluster/index.js';
import type { PlatformError } from '../../kernel/errors.js';
import type { Ready } from '../../kernel/ready.js';
import type { Admitted, RateFigures } from '../../http/operations/index.js';
import { figuresOf, type Now, windowFull } from './refusals.js';
import { SlidingWindow } from './sliding-window.js';
import type { WindowExchange } from './window-exchange.js';
import { WindowSet } from './window-set.js';

/** All nodes together may count this part of a limit beyond it. */
const tolerance = 0.1;

/** The window of one client. */
class ClientWindow {
  /** All that is known to be counted, here and by other nodes. */
  all = new SlidingWindow();
  /** What this node has counted. */
  readonly own = new SlidingWindow();
  /** The part of it that the other nodes cannot know. */
  unreported = 0;
  /** The requests that wait for the answer of the others. */
  waiting = 0;
  asked: Promise<void> | undefined;

  isIdle(nowMs: number): boolean {
    return this.waiting === 0 && this.all.isIdle(nowMs);
  }
}

/**
 * The windows of clients (users or addresses), counted by all nodes together within a tenth.
 *
 * A node counts alone until it has counted its share of that tenth, then reports its count and reads those of the others.
 * So one question serves many requests, and no node counts more than its share of the tenth that the others do not know.
 * Requests that arrive before the answer wait for it. A node that cannot ask counts alone.
 */
export class ClientWindows {
  readonly #kind: string;
  readonly #time: Time;
  readonly #windows: WindowSet<ClientWindow>;
  readonly #exchange: WindowExchange | undefined;

  constructor(
    kind: string,
    parts: {
      readonly time: Time;
      readonly windowsMax: number;
      readonly exchange?: WindowExchange | undefined;
    },
  ) {
    this.#kind = kind;
    this.#time = parts.time;
    this.#windows = new WindowSet(parts.windowsMax, () => new ClientWindow());
    this.#exchange = parts.exchange;
  }

  count(name: string, limit: number): Ready<Admitted> {
    const window = this.#windows.window(name);
    const now = this.#now();
    // Those who wait will fill the window; so as many requests wait at most as have room.
    if (window.all.used(now.monotonicMs) + window.waiting >= limit) return windowFull(window.all, limit, now);
    if (window.asked !== undefined && window.unreported >= this.#share(limit)) {
      return this.#afterAnswer(name, window, limit);
    }
    return this.#add(name, window, limit, now);
  }

  /** Counts without waiting for the other nodes: their counts may be exceeded while the question is under way. */
  countAtOnce(name: string, limit: number): Admitted {
    const window = this.#windows.window(name);
    const now = this.#now();
    if (window.all.used(now.monotonicMs) >= limit) return windowFull(window.all, limit, now);
    return this.#add(name, window, limit, now);
  }

  /** The refusal of a full window. Counts nothing. */
  refusal(name: string, limit: number): PlatformError | undefined {
    const now = this.#now();
    const all = this.#windows.peek(name)?.all;
    return all !== undefined && all.used(now.monotonicMs) >= limit
      ? windowFull(all, limit, now).refusal
      : undefined;
  }

  used(name: string): number {
    return this.#windows.peek(name)?.all.used(this.#time.monotonicMs()) ?? 0;
  }

  figures(name: string, limit: number): RateFigures {
    return figuresOf(this.#windows.peek(name)?.all, limit, this.#now());
  }

  dropIdle(): void {
    this.#windows.dropIdle(this.#time.monotonicMs());
  }

  #add(name: string, window: ClientWindow, limit: number, now: Now): Admitted {
    window.all.add(now.monotonicMs);
    if (this.#exchange !== undefined) {
      window.own.add(now.monotonicMs);
      window.unreported += 1;
      if (window.unreported >= this.#share(limit)) this.#ask(name, window, this.#exchange);
    }
    return { figures: figuresOf(window.all, limit, now) };
  }

  async #afterAnswer(name: string, window: ClientWindow, limit: number): Promise<Admitted> {
    window.waiting += 1;
    try {
      while (window.asked !== undefined && window.unreported >= this.#share(limit)) await window.asked;
    } finally {
      window.waiting -= 1;
    }
    const now = this.#now();
    if (window.all.used(now.monotonicMs) >= limit) return windowFull(window.all, limit, now);
    return this.#add(name, window, limit, now);
  }

  #ask(name: string, window: ClientWindow, exchange: WindowExchange): void {
    window.asked ??= this.#learn(name, window, exchange);
  }

  async #learn(name: string, window: ClientWindow, exchange: WindowExchange): Promise<void> {
    let reported = 0;
    const others = await exchange.ask(`${this.#kind}:${name}`, () => {
      reported = window.unreported;
      return window.own.history(this.#time.monotonicMs());
    });
    window.asked = undefined;
    // Without an answer this node counts alone, until it has counted as much again.
    window.unreported -= others === undefined ? window.unreported : reported;
    if (others === undefined) return;
    const nowMs = this.#time.monotonicMs();
    const { agesMs, counts } = window.own.history(nowMs);
    window.all = new SlidingWindow();
    window.all.merge(nowMs, [...others.agesMs, ...agesMs], [...others.counts, ...counts]);
  }

  /** How much this node may count before it asks. */
  #share(limit: number): number {
    return Math.max(1, Math.floor((limit * tolerance) / (this.#exchange?.nodes ?? 1)));
  }

  #now(): Now {
    return { monotonicMs: this.#time.monotonicMs(), wallMs: this.#time.wallMs() };
  }
}
