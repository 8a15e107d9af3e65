import type { Call } from '../../cluster/activation/call.js';
import { deactivated, volatileActor } from '../../cluster/activation/kind.js';
import { addressText } from '../../cluster/ids/ids.js';
import { sleep, type Time } from '../../cluster/time/time.js';
import { CounterServiceDefinition, type CountRequest } from '../../generated/troupe/examples/v1/counter.js';

/** The planted bug of a stream handler, if any. */
export type StreamBug = 'ends_early' | 'repeats' | undefined;

/** One activation of a volatile actor. */
export interface VolatileInstance {
  readonly actor: string;
  readonly process: string;
  readonly sums: Map<string, number>;
  /** Streams that it still answers: an activation that moves finishes them first. */
  streams: number;
  hasEnded: boolean;
}

/** Checks volatile actors: one activation handles each request at most once. */
export class CheckedInstances {
  readonly all: VolatileInstance[] = [];
  readonly #dead = new Set<string>();
  readonly #violations: string[];

  constructor(violations: string[]) {
    this.#violations = violations;
  }

  made(actor: string, process: string): VolatileInstance {
    if (this.#dead.has(process))
      this.#violations.push(`${show(actor)} was activated in ${process}, which is dead`);
    const instance: VolatileInstance = { actor, process, sums: new Map(), streams: 0, hasEnded: false };
    if (this.livingOf(actor).some((other) => other.process === process)) {
      this.#violations.push(`${show(actor)} has two activations in ${process}`);
    }
    this.all.push(instance);
    return instance;
  }

  /** The process died with all its activations. */
  died(process: string): void {
    this.#dead.add(process);
    for (const one of this.all) if (one.process === process) one.hasEnded = true;
  }

  added(instance: VolatileInstance, requestId: string, sum: number): void {
    if (instance.sums.has(requestId)) {
      this.#violations.push(`${show(instance.actor)} at ${instance.process} acted twice for ${requestId}`);
    }
    instance.sums.set(requestId, sum);
  }

  /** Whether an activation gave this answer to this request. */
  gave(actor: string, requestId: string, sum: number): boolean {
    return this.all.some((one) => one.actor === actor && one.sums.get(requestId) === sum);
  }

  get actors(): ReadonlySet<string> {
    return new Set(this.all.map(({ actor }) => actor));
  }

  livingOf(actor: string): VolatileInstance[] {
    return this.all.filter((one) => one.actor === actor && !one.hasEnded);
  }
}

const rules = {
  add: {},
  read: { idempotent: true },
  where: { idempotent: true, lane: 'control' },
  count: {
    lane: 'control',
    resume: (input: CountRequest, last: { number: number }) => ({ ...input, after: last.number }),
  },
} as const;

/** Counts its visitors in memory only; its streams count upwards. */
export function visitors(instances: CheckedInstances, time: Time, bug: StreamBug) {
  return volatileActor({
    service: CounterServiceDefinition,
    name: 'sim.Visitors',
    methods: rules,
    create: (activation) => {
      const instance = instances.made(addressText(activation.address), activation.process);
      let sum = 0;
      return {
        add: ({ amount }: { amount: number }, call: Call) => {
          sum += amount;
          instances.added(instance, call.requestId, sum);
          return { sum };
        },
        read: () => ({ sum }),
        where: () => ({ process: activation.process }),
        async *count(request: CountRequest, call: Call) {
          instance.streams += 1;
          try {
            yield* countAloud(request, call, time, bug);
          } finally {
            instance.streams -= 1;
          }
        },
        [deactivated]: () => {
          instance.hasEnded = true;
        },
      };
    },
  });
}

async function* countAloud({ after, to, pauseMs }: CountRequest, call: Call, time: Time, bug: StreamBug) {
  // The planted bug repeats the last number that the reader has seen.
  const first = bug === 'repeats' && after > 0 ? after : after + 1;
  for (let number = first; number <= to; number += 1) {
    if (bug === 'ends_early' && number > first + 4) return;
    await sleep(time, pauseMs, call.signal);
    yield { number };
  }
}

function show(actor: string): string {
  return actor.split('\0').slice(-1).join('');
}
