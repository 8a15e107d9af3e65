// A node of the runtime as recovery and timers see it: its slots, and whether it may act.
import { processId, type slot, viewNumber } from '../../../cluster/ids/ids.js';
import { makeView } from '../../../cluster/membership/view.js';
import type { RecoveryNode } from '../../../cluster/recovery/recovery.js';
import { buildRing, type Ring } from '../../../cluster/ring/ring.js';

const process = processId('me');

/** The node `me`; `view` gives it other members beside. */
export class SlotNode implements RecoveryNode {
  readonly process = process;
  readonly #listeners = new Set<(ring: Ring, before: Ring) => void>();
  ring = buildRing(makeView(viewNumber(0), []));
  acts = true;

  owns(number: ReturnType<typeof slot>): boolean {
    return this.ring.ownerOf(number)?.process === process;
  }

  mayAct(): boolean {
    return this.acts;
  }

  onRing(listener: (ring: Ring, before: Ring) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  view(...names: string[]): void {
    const before = this.ring;
    const members = names.map((name) => ({
      process: processId(name),
      address: name,
      weight: 1,
      roles: ['worker' as const],
      host: name,
      pid: 1,
    }));
    this.ring = buildRing(makeView(viewNumber(before.view.number + 1), members));
    for (const listener of this.#listeners) listener(this.ring, before);
  }
}
