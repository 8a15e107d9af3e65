import type { Kind } from '../activation/kind.js';
import { actorAddress, type ActorAddress, type Slot } from '../ids/ids.js';
import { slotOf } from '../ring/hash.js';

/** An actor's address and everything derived from it that a call needs. */
export interface Target {
  readonly kind: Kind;
  readonly address: ActorAddress;
  /** `group NUL key`, the key in the actor table. */
  readonly text: string;
  readonly slot: Slot;
}

export function targetOf(kind: Kind, group: string, key: string): Target {
  const address = actorAddress(kind.name, group, key);
  return { kind, address, text: `${group}\0${key}`, slot: slotOf(address) };
}
