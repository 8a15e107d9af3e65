import { type Activation, type Slot, volatileActor } from '../../../cluster/index.js';
import { PulseServiceDefinition } from '../../../generated/troupe/actors/v1/pulse.js';

export type PulseKind = ReturnType<typeof pulseActor>;

/** A small actor whose answer shows that its node responds: a call to it takes the path of every other call. */
export function pulseActor() {
  return volatileActor({
    service: PulseServiceDefinition,
    methods: { beat: { idempotent: true } },
    create: (activation: Activation) => ({
      beat: () => ({ process: activation.process }),
    }),
  });
}

const keysMax = 4_096;

/** A key whose slot satisfies the condition; undefined if no slot does, as on a node without slots. */
export function pulseKey(slotOf: (key: string) => Slot, isWanted: (slot: Slot) => boolean) {
  for (let number = 0; number < keysMax; number += 1) {
    const key = `pulse-${number}`;
    if (isWanted(slotOf(key))) return key;
  }
  return undefined;
}
