import type { ProcessId } from '../ids/ids.js';
import type { Membership, View } from './membership.js';

/**
 * Processes that left the view but may still be running, for example one that was removed early because it refused
 * links. Its successors may load and write at once, because the fence decides; their outside effects wait until it is
 * surely gone (protocol 2.4). A process that leaves in order is asked about the actor instead: it begins nothing new, and
 * waiting for its end would hold all new turns as long as its drain, which may itself wait for a reader of such a turn.
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

  /** `released` resolves when the process has said that the actor has ended there, or is surely gone. */
  async clear(released: (process: ProcessId) => Promise<unknown>, signal: AbortSignal): Promise<void> {
    for (const process of this.#departed) {
      if (this.#leavesInOrder(process)) {
        await released(process);
        signal.throwIfAborted();
        // Other actors may still run there.
        continue;
      }
      if (!this.#membership.surelyGone(process)) await this.#membership.whenSurelyGone(process, signal);
      this.#departed.delete(process);
    }
  }

  #leavesInOrder(process: ProcessId): boolean {
    return this.#membership.leavers.members().some((member) => member.process === process);
  }
}
