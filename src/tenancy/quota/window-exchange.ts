import type { Time, Timer } from '../../../cluster/index.js';
import type { CountedWindow, WindowCount, WindowsOfOthers } from '../../infra/storage/index.js';

/** Reports counts to the other nodes and reads theirs; undefined if they cannot be reached now. */
export type ExchangeCounts = (counted: readonly CountedWindow[]) => Promise<WindowsOfOthers | undefined>;

/** One exchange keeps Redis busy for about a millisecond at most. */
const windowsEachMax = 50;
/** A node that has reported nothing else for this time reports that it counts. */
const presenceAfterMs = 15_000;
/** After no answer: until a node knows how many count, its share is too large. */
const retryAfterMs = 1_000;

interface Question {
  readonly name: string;
  readonly count: () => WindowCount;
  readonly answered: (others: WindowCount | undefined) => void;
}

/**
 * Puts the windows that this node asks about into few exchanges: one at a time, with all windows that were asked about
 * since the last one began.
 */
export class WindowExchange {
  readonly #time: Time;
  readonly #exchange: ExchangeCounts;
  readonly #report: (attempted: string, error: unknown) => void;
  readonly #unanswered: () => void;
  readonly #asked: Question[] = [];
  #isRunning = false;
  #isDue = false;
  #isStopped = false;
  #nodes = 1;
  #timer: Timer;

  constructor(
    time: Time,
    exchange: ExchangeCounts,
    report: (attempted: string, error: unknown) => void = () => undefined,
    unanswered: () => void = () => undefined,
  ) {
    this.#time = time;
    this.#exchange = exchange;
    this.#report = report;
    this.#unanswered = unanswered;
    this.#timer = time.after(0, () => this.#bePresent());
  }

  /** How many nodes count, as far as this one knows. */
  get nodes(): number {
    return this.#nodes;
  }

  /** Resolves with what the other nodes have counted; undefined if they cannot be asked. The count is read when it is sent. */
  ask(name: string, count: () => WindowCount): Promise<WindowCount | undefined> {
    return new Promise((answered) => {
      this.#asked.push({ name, count, answered });
      this.#start();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer.cancel();
  }

  #bePresent(): void {
    this.#isDue = true;
    this.#start();
  }

  #bePresentIn(ms: number): void {
    if (this.#isStopped) return;
    this.#timer.cancel();
    this.#timer = this.#time.after(ms, () => this.#bePresent());
  }

  #start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    // Requests of the same turn of the event loop share the exchange.
    this.#time.soon(() => {
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    while (this.#asked.length > 0 || this.#isDue) {
      const asked = this.#asked.splice(0, windowsEachMax);
      this.#isDue = false;
      const answer = await this.#exchangeSafely(asked);
      this.#bePresentIn(answer === undefined ? retryAfterMs : presenceAfterMs);
      if (answer === undefined) this.#unanswered();
      else this.#nodes = Math.max(1, answer.nodes);
      for (const [index, { answered }] of asked.entries()) answered(answer?.windows[index]);
    }
    this.#isRunning = false;
  }

  async #exchangeSafely(asked: readonly Question[]): Promise<WindowsOfOthers | undefined> {
    try {
      return await this.#exchange(asked.map(({ name, count }) => ({ name, ...count() })));
    } catch (error) {
      this.#report('counting windows with the other nodes', error);
      return undefined;
    }
  }
}
