import type { Time } from '../../../cluster/index.js';
import type { Logger } from '../diagnostics/index.js';

/** An unavailable store fails every read of every source; one line per minute and source is enough. */
const logEveryMs = 60_000;

interface Logged {
  readonly atMs: number;
  suppressed: number;
}

/** Logs failures of recovery and timer sources. The runtime retries these sources itself. */
export class SourceFailures {
  readonly #logger: Logger;
  readonly #time: Time;
  readonly #logged = new Map<string, Logged>();

  constructor(logger: Logger, time: Time) {
    this.#logger = logger;
    this.#time = time;
  }

  /** The reporter for one source: log lines are limited per source and request. */
  of(source: string): (asked: string, error: unknown) => void {
    return (asked, error) => this.#fail(source, asked, error);
  }

  #fail(source: string, asked: string, error: unknown): void {
    const name = `${source} ${asked}`;
    const nowMs = this.#time.monotonicMs();
    const logged = this.#logged.get(name);
    if (logged !== undefined && nowMs - logged.atMs < logEveryMs) {
      logged.suppressed += 1;
      return;
    }
    const unsaid = logged?.suppressed ?? 0;
    this.#logged.set(name, { atMs: nowMs, suppressed: 0 });
    this.#logger.error(
      { error, source, asked, ...(unsaid === 0 ? {} : { unsaid }) },
      'a source of unfinished work or timers failed',
    );
  }
}
