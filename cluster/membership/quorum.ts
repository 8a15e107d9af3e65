import { viewNumber, type ProcessId, type ViewNumber } from '../ids/ids.js';
import type { View } from './membership.js';

export interface Electors {
  /** Renewed recently and bound by no promise. */
  isFree(process: ProcessId): boolean;
  /** It has surely ended, and its confirmations have expired. */
  isGone(process: ProcessId): boolean;
  /** The view that it last reported to hold. */
  holds(process: ProcessId): ViewNumber;
  /** The view below which it surely confirms no process, now or later. */
  heldFree(process: ProcessId): ViewNumber;
}

export interface Opposition {
  /** Processes that block a change; empty if the view may change. */
  readonly processes: readonly ProcessId[];
  /** The newest view that most of them may still hold. */
  readonly newest: ViewNumber;
}

/**
 * Whether the view may change; the counterpart of peer confirmation (protocol 2.5). Processes that cannot reach the
 * store go on while most workers of the view they hold confirm them. So no process is removed and none joins while
 * the processes of unknown state could form a majority of any view that one of them may still hold. Views older than
 * a seized number are excluded: processes that hold them read that number and stop.
 */
export class Quorum {
  readonly #views: View[] = [];
  readonly #viewsMax: number;
  /** The members of all of these views, each once: most are in all of them, and each poll asks for each. */
  #processes: ReadonlySet<ProcessId> = new Set();

  constructor(viewsMax = 64) {
    this.#viewsMax = viewsMax;
  }

  remember(view: View): void {
    this.#views.push(view);
    if (this.#views.length > this.#viewsMax) this.#views.shift();
    this.#processes = new Set(this.#views.flatMap(({ members }) => members.map(({ process }) => process)));
  }

  lastWith(process: ProcessId): View | undefined {
    return this.#views.findLast(({ members }) => members.some((member) => member.process === process));
  }

  opposition(electors: Electors, seized: ViewNumber): Opposition {
    const unknown = new Set<ProcessId>();
    for (const process of this.#processes) {
      if (!electors.isFree(process) && !electors.isGone(process)) unknown.add(process);
    }
    if (unknown.size === 0) return none;
    const last = this.#views.at(-1)?.number ?? viewNumber(0);
    let oldestHeld: number = last;
    for (const process of unknown) oldestHeld = Math.min(oldestHeld, electors.holds(process));
    const opposed = new Set<ProcessId>();
    let newest = viewNumber(0);
    for (const view of this.#views) {
      if (view.number < oldestHeld || view.number < seized) continue;
      const unknownMembers = view.members.filter(
        ({ process }) => unknown.has(process) && electors.heldFree(process) <= view.number,
      );
      if (unknownMembers.length * 2 <= view.members.length) continue;
      for (const member of unknownMembers) opposed.add(member.process);
      if (view.number > newest) newest = view.number;
    }
    return { processes: [...opposed], newest };
  }
}

const none: Opposition = { processes: [], newest: viewNumber(0) };
