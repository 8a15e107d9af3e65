import { FairLimiter, type FairLimiterLimits } from './fair-limiter.js';

interface Waiting {
  readonly share: string;
  readonly begin: () => void;
}

/** Runs tasks with a limit at once; further tasks wait, shares take turns, and none takes all the places. */
export class TaskLimiter {
  readonly #room: FairLimiter<Waiting>;

  constructor(limits: FairLimiterLimits) {
    this.#room = new FairLimiter(limits);
  }

  get waitingCount(): number {
    return this.#room.waitingCount;
  }

  hasPlace(share: string): boolean {
    return this.#room.hasPlace(share);
  }

  waitingOf(share: string): number {
    return this.#room.waitingOf(share);
  }

  async run<Result>(share: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#room.hasPlace(share)) this.#room.enter(share);
    else await new Promise<void>((begin) => this.#room.wait(share, { share, begin }));
    try {
      return await work();
    } finally {
      this.#room.leave(share);
      this.#beginNext();
    }
  }

  /** Takes the place before the task starts, so that no other task can take it in between. */
  #beginNext(): void {
    for (let next = this.#room.next(); next !== undefined; next = this.#room.next()) {
      this.#room.enter(next.share);
      next.begin();
    }
  }
}
