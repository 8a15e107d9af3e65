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
    return this.#oppositionFrom(forViews);
  }

  /** What blocks the certainty that silent processes have stopped acting. */
  doubt({ forCertainty }: SeizedNumbers): Opposition {
    return this.#oppositionFrom(forCertainty);
  }

  /** The same, if the end of a process that is silent and may still act is awaited here. */
  doubtAboutAwaited(seized: SeizedNumbers): Opposition {
    const { gone, observer, config } = this.#context;
    const members = new Set(this.#context.view().members.map((member) => member.process));
    const isAwaited = gone
      .awaited()
      .some((process) => !members.has(process) && observer.silentMs(process) >= config.earlyRemovalSilenceMs);
    return isAwaited ? this.doubt(seized) : { processes: [], newest: viewNumber(0) };
  }

  /** Without a departure record: the whole lease has passed, and no process can have confirmed it meanwhile. */
  isSilentForGood(process: ProcessId, seized: SeizedNumbers): boolean {
    const { observer, config } = this.#context;
    return observer.silentMs(process) >= waitMs(config) && this.doubt(seized).processes.length === 0;
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

  /**
   * It has surely ended, and so have the leases that it confirmed. Neither a refused connection nor a removed lease
   * shows that: a firewall refuses too, and a process that cannot reach the store does not know of its removal.
   */
  #isGone(process: ProcessId): boolean {
    const { gone, observer, time, config } = this.#context;
    if (observer.isUnbound(process, time.monotonicMs(), config.leaseMarginMs)) return true;
    const end = gone.end(process);
    if (end === undefined) return false;
    return end.wasFree || time.monotonicMs() - end.knownMs >= config.leaseActMs + config.leaseMarginMs;
  }

  #oppositionFrom(seized: ViewNumber): Opposition {
    const { self, observer, time, config } = this.#context;
    const nowMs = time.monotonicMs();
    const electors: Electors = {
      isFree: (process) =>
        process === self.process
          ? this.#isSelfFree()
          : observer.isFree(process, nowMs, config.memberStoreAwayMs),
      isGone: (process) => this.#isGone(process),
      holds: (process) => observer.holds(process),
      heldFree: (process) => observer.heldFree(process),
    };
    return this.#quorum.opposition(electors, seized);
  }
}
