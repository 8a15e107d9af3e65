import type { PlatformError } from '../../kernel/errors.js';

/** What ended for an owner of streams: everything, or what comes from some addresses. */
export interface Ending {
  /** What a new request would be refused with, if it is known. */
  readonly refusal?: PlatformError | undefined;
  /** The addresses that it does not concern; absent: it concerns all. */
  readonly spares?: ((address: string) => boolean) | undefined;
}

/** Far more than end while one request waits. */
const ownersMax = 4_096;

/**
 * The last ending of each of the owners that ended most recently, numbered. A request takes the number before it is
 * authenticated and asks later what ended since: its stream is not yet among the open ones, which an ending cuts.
 */
export class RecentEndings {
  /** Oldest first. */
  readonly #endings = new Map<string, { readonly number: number; readonly ending: Ending }>();
  readonly #max: number;
  #last = 0;
  /** Up to this number it is not known which owners ended. */
  #unknownUntil = 0;

  constructor(max = ownersMax) {
    this.#max = max;
  }

  /** The number of the last ending. */
  get last(): number {
    return this.#last;
  }

  note(owner: string, ending: Ending): void {
    this.#last += 1;
    this.#endings.delete(owner);
    this.#endings.set(owner, { number: this.#last, ending });
    if (this.#endings.size <= this.#max) return;
    for (const [oldest, { number }] of this.#endings) {
      this.#endings.delete(oldest);
      this.#unknownUntil = number;
      return;
    }
  }

  /** Requests from before now count as ended, because it is unknown which credentials ended. */
  noteAll(): void {
    this.#last += 1;
    this.#endings.clear();
    this.#unknownUntil = this.#last;
  }

  /** What ended after the number for one of the owners at the address; an ending of an unknown owner counts for all. */
  since(number: number, owners: readonly string[], address: string): Ending | undefined {
    if (number === this.#last || owners.length === 0) return undefined;
    if (number < this.#unknownUntil) return {};
    for (const owner of owners) {
      const found = this.#endings.get(owner);
      if (found !== undefined && found.number > number && concerns(found.ending, address))
        return found.ending;
    }
    return undefined;
  }
}

export function concerns({ spares }: Ending, address: string): boolean {
  return spares === undefined || !spares(address);
}
