import type { Time } from '../../../cluster/index.js';
import type { Logger } from '../diagnostics/index.js';

/** A store that is away fails every look of every source: one line a minute for each says as much as hundreds. */
const toldEveryMs = 60_000;

interface Told {
  readonly atMs: number;
  unsaid: number;
}

/** Why sources of recovery and of timers could not answer, as lines of the log. They are asked again by themselves. */
export class SourceFailures {
  readonly #logger: Logger;
  readonly #time: Time;
  readonly #told = new Map<string, Told>();

  constructor(logger: Logger, time: Time) {
    this.#logger = logger;
    this.#time = time;
  }

  /** For one source: bounded by its name and by what it was asked. */
  of(source: string): (asked: string, error: unknown) => void {
    return (asked, error) => this.#fail(source, asked, error);
  }

  #fail(source: string, asked: string, error: unknown): void {
    const name = `${source} ${asked}`;
    const nowMs = this.#time.monotonicMs();
    const told = this.#told.get(name);
    if (told !== undefined && nowMs - told.atMs < toldEveryMs) {
      told.unsaid += 1;
      return;
    }
    const unsaid = told?.unsaid ?? 0;
    this.#told.set(name, { atMs: nowMs, unsaid: 0 });
    this.#logger.error(
      { error, source, asked, ...(unsaid === 0 ? {} : { unsaid }) },
      'a source of unfinished work or timers failed',
    );
  }
}
