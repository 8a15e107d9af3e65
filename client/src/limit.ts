import { type Surroundings, untilAborted } from './surroundings.js';

/** The time that an answer may take, and the caller who may leave before. */
export class Limit {
  readonly signal: AbortSignal;
  readonly #time = new AbortController();
  readonly #cancel: () => void;

  constructor(milliseconds: number, { after }: Pick<Surroundings, 'after'>, caller?: AbortSignal) {
    this.signal = caller === undefined ? this.#time.signal : AbortSignal.any([caller, this.#time.signal]);
    this.#cancel = after(milliseconds, () =>
      this.#time.abort(new DOMException(`No answer within ${milliseconds} ms.`, 'TimeoutError')),
    );
  }

  get isOver(): boolean {
    return this.#time.signal.aborted;
  }

  /** Settles as the work does; rejects once the time is over or the caller leaves, even where the work never settles. */
  of<Result>(work: Promise<Result>): Promise<Result> {
    return untilAborted(work, this.signal);
  }

  end(): void {
    this.#cancel();
  }
}
