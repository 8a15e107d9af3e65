import { viewNumber, type ProcessId, type ViewNumber } from '../ids/ids.js';
import type { View } from './membership.js';
import { waitMs, type Perspective } from './perspective.js';
import type { Electors, Opposition, Quorum } from './quorum.js';

/** The numbers from which seized views count. */
export interface SeizedNumbers {
  readonly forViews: ViewNumber;
  readonly forCertainty: ViewNumber;
}

/** Which processes of past views still count, as this process knows it: the input of the quorum rule. */
export class Electorate {
  readonly #context: Perspective;
  readonly #quorum: Quorum;
  readonly #isSelfFree: () => boolean;

  constructor(context: Perspective, quorum: Quorum, isSelfFree: () => boolean) {
    this.#context = context;
    this.#quorum = quorum;
    this.#isSelfFree = isSelfFree;
  }

  /** What blocks a change of view. */
  opposition({ forViews }: SeizedNumbers): Opposition {
    return this.#oppositionWith((process) => this.#isGone(process), forViews);
  }

  /**
   * What blocks the certainty that the process has stopped acting. Evidence of its own death speeds up a removal, but
   * certainty needs the whole rule.
   */
  doubt(process: ProcessId, { forCertainty }: SeizedNumbers): Opposition {
    return this.#oppositionWith((other) => other !== process && this.#isGone(other), forCertainty);
  }

  /** The same for processes whose end is awaited here: the first one that is silent and may still act. */
  doubtAboutAwaited(seized: SeizedNumbers): Opposition {
    const { gone, observer, config } = this.#context;
    const members = new Set(this.#context.view().members.map((member) => member.process));
    for (const process of gone.awaited()) {
      if (members.has(process) || observer.silentMs(process) < config.seizeSilenceMs) continue;
      const doubt = this.doubt(process, seized);
      if (doubt.processes.length > 0) return doubt;
    }
    return { processes: [], newest: viewNumber(0) };
  }

  /** Without a departure record: the whole lease has passed, and no process can have confirmed it meanwhile. */
  isSilentForGood(process: ProcessId, seized: SeizedNumbers): boolean {
    const { observer, config } = this.#context;
    return observer.silentMs(process) >= waitMs(config) && this.doubt(process, seized).processes.length === 0;
  }

  /** Whether most workers of the view renew in the member store that this process uses. */
  mostRenew({ members }: View): boolean {
    const { self, observer, config } = this.#context;
    const renewing = members.filter(
      ({ process }) =>
        process === self.process ||
        observer.hasDeparted(process) ||
        (observer.lease(process) !== undefined && observer.silentMs(process) < config.memberStoreAwayMs),
    );
    return renewing.length * 2 > members.length;
  }

  /** A refusal or a removed lease shows that it gives no more promises; its earlier promises must have expired too. */
  #isGone(process: ProcessId): boolean {
    const { observer, time, config } = this.#context;
    if (observer.isUnbound(process, time.monotonicMs(), config.leaseMarginMs)) return true;
    if (this.#context.endedFree(process)) return true;
    const goneMs = Math.max(this.#context.refusedMs(process) ?? 0, observer.vanishedMs(process) ?? 0);
    return goneMs >= config.leaseActMs + config.leaseMarginMs;
  }

  #oppositionWith(isGone: (process: ProcessId) => boolean, seized: ViewNumber): Opposition {
    const { self, observer, time, config } = this.#context;
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
