import { viewNumber, type ProcessId, type ViewNumber } from '../ids/ids.js';
import type { View } from './membership.js';

export interface Electors {
  /** Renewed just now and bound by no confirmation. */
  isFree(process: ProcessId): boolean;
  /** Its listener is gone, or its lease was taken away: it confirms nobody any more. */
  isGone(process: ProcessId): boolean;
  /** The view that it last said to hold. */
  holds(process: ProcessId): ViewNumber;
}

export interface Opposition {
  /** Processes that stand in the way of a change; empty when it may be made. */
  readonly processes: readonly ProcessId[];
  /** The newest view that most of them may still hold. */
  readonly newest: ViewNumber;
}

/**
 * Whether views may change (protocol 2.5, from the other side). Processes that cannot reach the store go on
 * while most workers of the view that they hold confirm them. So nobody is removed, and nobody joins, while
 * those of whom nothing is known could be most workers of any view that one of them may still hold. A view
 * older than a number that was seized is out: those who hold it read that number and stop.
 */
export class Quorum {
  readonly #views: View[] = [];
  readonly #viewsMax: number;

  constructor(viewsMax = 64) {
    this.#viewsMax = viewsMax;
  }

  remember(view: View): void {
    this.#views.push(view);
    if (this.#views.length > this.#viewsMax) this.#views.shift();
  }

  opposition(electors: Electors, seized: ViewNumber): Opposition {
    const unknown = new Set<ProcessId>();
    for (const view of this.#views) {
      for (const { process } of view.members) {
        if (!electors.isFree(process) && !electors.isGone(process)) unknown.add(process);
      }
    }
    if (unknown.size === 0) return none;
    const last = this.#views.at(-1)?.number ?? viewNumber(0);
    let oldestHeld: number = last;
    for (const process of unknown) oldestHeld = Math.min(oldestHeld, electors.holds(process));
    const opposed = new Set<ProcessId>();
    let newest = viewNumber(0);
    for (const view of this.#views) {
      if (view.number < oldestHeld || view.number < seized) continue;
      const silent = view.members.filter((member) => unknown.has(member.process));
      if (silent.length * 2 <= view.members.length) continue;
      for (const member of silent) opposed.add(member.process);
      if (view.number > newest) newest = view.number;
    }
    return { processes: [...opposed], newest };
  }
}

const none: Opposition = { processes: [], newest: viewNumber(0) };
