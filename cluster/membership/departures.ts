import type { ProcessId } from '../ids/ids.js';
import type { Membership, View } from './membership.js';

/**
 * Processes that left the view but may still be running, for example one that was removed early because it refused
 * links. Its successors may load and write at once, because the fence decides; their outside effects wait until it is
 * surely gone (protocol 2.4).
 */
export class Departures {
  readonly #membership: Membership;
  readonly #departed = new Set<ProcessId>();
  #members: ReadonlySet<ProcessId> = new Set();

  constructor(membership: Membership) {
    this.#membership = membership;
  }

  follow(view: View): void {
    const members = new Set(view.members.map((member) => member.process));
    for (const process of this.#members) {
      if (!members.has(process) && process !== this.#membership.self.process) this.#departed.add(process);
    }
    // A process without effects never asks; those of the last views remain.
    for (const process of this.#departed) {
      if (this.#membership.surelyGone(process)) this.#departed.delete(process);
    }
    this.#members = members;
  }

  get size(): number {
    return this.#departed.size;
  }

  async clear(signal: AbortSignal): Promise<void> {
    for (const process of this.#departed) {
      if (!this.#membership.surelyGone(process)) await this.#membership.whenSurelyGone(process, signal);
      this.#departed.delete(process);
    }
  }
}
