import type { ProcessId } from '../ids/ids.js';
import type { KnownLeavers, LeftBecause, Member, View } from './membership.js';
import type { Observer } from './observer.js';
import type { MembershipEvent } from './perspective.js';
import { includes } from './view.js';

/** More than a history of views shows. */
const removedMax = 256;

/** Who leaves or left the view, and why, as far as this process knows. */
export class Leavers implements KnownLeavers {
  readonly #observer: Observer;
  readonly #view: () => View;
  /** Whose lease this process removed; the oldest are forgotten. */
  readonly #removed = new Map<ProcessId, LeftBecause>();

  constructor(observer: Observer, view: () => View) {
    this.#observer = observer;
    this.#view = view;
  }

  note(event: MembershipEvent): void {
    if (event.event !== 'removed') return;
    this.#removed.set(event.process, event.because);
    for (const oldest of this.#removed.keys()) {
      if (this.#removed.size <= removedMax) return;
      this.#removed.delete(oldest);
    }
  }

  members(): readonly Member[] {
    return this.#observer
      .leases()
      .filter(({ member, leaving }) => leaving && member.roles.includes('worker'))
      .filter(({ member }) => !includes(this.#view(), member.process))
      .map(({ member }) => member);
  }

  why(process: ProcessId): LeftBecause | undefined {
    // A process that found its own lease removed leaves a departure record too.
    const removed = this.#removed.get(process);
    if (removed !== undefined) return removed;
    const left = this.#observer.lease(process)?.leaving === true || this.#observer.hasDeparted(process);
    return left ? 'left' : undefined;
  }
}
