import { type Activation, type NodeDescription, type Slot, volatileActor } from '../../../cluster/index.js';
import { PulseServiceDefinition } from '../../../generated/troupe/actors/v1/pulse.js';

/** What a pulse needs of the node in whose memory it lives. */
export interface PulseHost {
  describe(): NodeDescription;
}

export type PulseKind = ReturnType<typeof pulseActor>;

/** A tiny actor that says that its node answers: a call to it goes the whole way of any other. */
export function pulseActor(host: PulseHost) {
  return volatileActor({
    service: PulseServiceDefinition,
    methods: { beat: { idempotent: true }, describe: { idempotent: true, lane: 'control' } },
    create: (activation: Activation) => ({
      beat: () => ({ process: activation.process }),
      describe: () => ({ description: JSON.stringify(host.describe()) }),
    }),
  });
}

const keysMax = 4_096;

/** A key whose slot meets the wish; undefined where no slot does, as on a node that holds none. */
export function pulseKey(slotOf: (key: string) => Slot, isWanted: (slot: Slot) => boolean) {
  for (let number = 0; number < keysMax; number += 1) {
    const key = `pulse-${number}`;
    if (isWanted(slotOf(key))) return key;
  }
  return undefined;
}
