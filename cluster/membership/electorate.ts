import { viewNumber, type ProcessId, type ViewNumber } from '../ids/ids.js';
import type { Perspective } from './perspective.js';
import type { Electors, Opposition, Quorum } from './quorum.js';

/** From when on numbers that were seized count. */
export interface SeizedNumbers {
  readonly forViews: ViewNumber;
  readonly forCertainty: ViewNumber;
}

/** Who of those in the views still counts, as this process knows it: the facts behind the quorum's rule. */
export class Electorate {
  readonly #world: Perspective;
  readonly #quorum: Quorum;
  readonly #isSelfFree: () => boolean;

  constructor(world: Perspective, quorum: Quorum, isSelfFree: () => boolean) {
    this.#world = world;
    this.#quorum = quorum;
    this.#isSelfFree = isSelfFree;
  }

  /** What stands in the way of a change of view. */
  opposition({ forViews }: SeizedNumbers): Opposition {
    return this.#oppositionWith((process) => this.#isGone(process), forViews);
  }

  /**
   * What stands in the way of being sure that the process acts no more. What was learned of its own death
   * hastens a removal, but to be sure of it takes the whole rule.
   */
  doubt(process: ProcessId, { forCertainty }: SeizedNumbers): Opposition {
    return this.#oppositionWith((other) => other !== process && this.#isGone(other), forCertainty);
  }

  /** The same of those whose end somebody waits for: the first that is silent and yet may act. */
  doubtAboutAwaited(seized: SeizedNumbers): Opposition {
    const { gone, observer, config } = this.#world;
    const members = new Set(this.#world.view().members.map((member) => member.process));
    for (const process of gone.awaited()) {
      if (members.has(process) || observer.silentMs(process) < config.seizeSilenceMs) continue;
      const doubt = this.doubt(process, seized);
      if (doubt.processes.length > 0) return doubt;
    }
    return { processes: [], newest: viewNumber(0) };
  }

  /** A refusal or a lease taken away tells that it promises no more; what it promised before must be over too. */
  #isGone(process: ProcessId): boolean {
    const { observer, time, config } = this.#world;
    if (observer.isUnbound(process, time.monotonicMs(), config.leaseMarginMs)) return true;
    if (this.#world.endedFree(process)) return true;
    const goneMs = Math.max(this.#world.refusedMs(process) ?? 0, observer.vanishedMs(process) ?? 0);
    return goneMs >= config.leaseActMs + config.leaseMarginMs;
  }

  #oppositionWith(isGone: (process: ProcessId) => boolean, seized: ViewNumber): Opposition {
    const { self, observer, time, config } = this.#world;
    const nowMs = time.monotonicMs();
    const electors: Electors = {
      isFree: (process) =>
        process === self.process
          ? this.#isSelfFree()
          : observer.isFree(process, nowMs, config.memberStoreAwayMs),
      isGone,
      holds: (process) => observer.holds(process),
    };
    return this.#quorum.opposition(electors, seized);
  }
}
