import {
  CounterServiceDefinition,
  type AddRequest,
  type CountRequest,
} from '../../generated/troupe/examples/v1/counter.js';
import type { Call } from '../activation/call.js';
import { durableActor, volatileActor, type Activation, type DurableActivation } from '../activation/kind.js';
import { ClusterError } from '../errors.js';
import type { GroupCommit } from '../fencing/group-commit.js';
import { addressText } from '../ids/ids.js';
import { sleep, type Time } from '../time/time.js';

/** The example actor: shows how to write an actor kind; the runtime's tests and benchmarks use it. */
export type CounterService = typeof CounterServiceDefinition;

export interface CounterLoad {
  readonly counter: string;
}

export interface CounterState {
  readonly sum: number;
}

/** One addition. The request id is a unique column of its row, so that a repeat finds the first sum. */
export interface CounterWrite {
  readonly counter: string;
  readonly requestId: string;
  readonly sum: number;
}

export interface CounterResult {
  readonly sum: number;
}

export type CounterCommits = GroupCommit<CounterLoad, CounterState, CounterWrite, CounterResult>;
type CounterActivation = DurableActivation<CounterState, CounterWrite, CounterResult>;

const rules = {
  add: { idempotent: true },
  read: { idempotent: true, lane: 'control' },
  count: {
    lane: 'control',
    resume: (input: CountRequest, last: { number: number }) => ({ ...input, after: last.number }),
  },
  where: { idempotent: true, lane: 'control' },
} as const;

/** Commits each addition before it answers. */
export function durableCounter(
  commits: CounterCommits,
  time: Time,
  name = 'troupe.examples.v1.DurableCounter',
) {
  return durableActor({
    service: CounterServiceDefinition,
    name,
    methods: rules,
    commits,
    load: (address) => ({ counter: addressText(address) }),
    create: (activation) => new DurableCounter(activation, time),
  });
}

/** Loses its sum when its process ends; an addition repeated after that counts again. */
export function volatileCounter(time: Time, name = 'troupe.examples.v1.VolatileCounter') {
  return volatileActor({
    service: CounterServiceDefinition,
    name,
    methods: { ...rules, add: {} },
    create: (activation) => new VolatileCounter(activation, time),
  });
}

class VolatileCounter {
  readonly #activation: Activation;
  readonly #time: Time;
  #sum = 0;

  constructor(activation: Activation, time: Time) {
    this.#activation = activation;
    this.#time = time;
  }

  add({ amount }: AddRequest) {
    this.#sum += amount;
    return { sum: this.#sum };
  }

  read() {
    return { sum: this.#sum };
  }

  count(input: CountRequest, call: Call) {
    return countUp(input, call, this.#time);
  }

  where() {
    return { process: this.#activation.process };
  }
}

class DurableCounter {
  readonly #activation: CounterActivation;
  readonly #time: Time;
  #sum: number;

  constructor(activation: CounterActivation, time: Time) {
    this.#activation = activation;
    this.#time = time;
    this.#sum = activation.loaded.sum;
  }

  async add({ amount }: AddRequest, call: Call) {
    const write = {
      counter: addressText(this.#activation.address),
      requestId: call.requestId,
      sum: this.#sum + amount,
    };
    const committed = await this.#activation.write(write);
    if (committed.outcome === 'result_lost') {
      // The store lost its answer. Only a fresh load shows whether this request id was new.
      this.#activation.end('failed');
      throw new ClusterError(
        'outcome_unknown',
        'the addition was committed by this call or an earlier one; repeat it with the same request id',
      );
    }
    const { result } = committed;
    if (result.sum === write.sum) this.#sum = result.sum;
    return { sum: result.sum };
  }

  read() {
    return { sum: this.#sum };
  }

  count(input: CountRequest, call: Call) {
    return countUp(input, call, this.#time);
  }

  where() {
    return { process: this.#activation.process };
  }
}

async function* countUp({ after, to, pauseMs }: CountRequest, call: Call, time: Time) {
  for (let number = after + 1; number <= to; number += 1) {
    if (pauseMs > 0) await sleep(time, pauseMs, call.signal);
    yield { number };
  }
}
