import type { ActorKindOf } from '../../cluster/activation/kind.js';
import { ClusterError } from '../../cluster/errors.js';
import type { CounterService } from '../../cluster/example/counter.js';
import { addressText } from '../../cluster/ids/ids.js';
import type { SimulatedHost } from '../../cluster/simulation/host.js';
import type { SentCall } from './checkers.js';
import type { SimulatedProcess, World } from './world.js';

export const ledgerKeys = ['a', 'b', 'c', 'd', 'bounded'];
export const workerKeys = ['w1', 'w2'];
export const visitorKeys = ['v1', 'v2', 'v3'];
const grantKeys = ['q1', 'q2', 'q3'];
/** Keys for recovered work. The bounded ledger is left out, because it refuses additions above its bound. */
const workKeys = ledgerKeys.filter((key) => key !== 'bounded');

interface VolatileCall {
  readonly id: string;
  readonly actor: string;
  sum: number | undefined;
}

/** A stream as its reader saw it: numbers from 1 on, each once, up to the last or to a typed failure. */
interface ReadStream {
  readonly id: string;
  readonly origin: SimulatedHost;
  readonly to: number;
  readonly numbers: number[];
  readonly ends: string[];
}

/**
 * Calls from all living processes, including edges, some sent twice under one request id by two processes; streams;
 * rows of work and timers, half of them without a hint to the slot's owner.
 */
export class Load {
  readonly #world: World;
  readonly #calls: SentCall[];
  readonly #volatile: VolatileCall[] = [];
  readonly #streams: ReadStream[] = [];
  readonly #burst: number;
  #sent = 0;
  #isOn = true;

  /** `burst`: how much comes at once. */
  constructor(world: World, calls: SentCall[], burst = 1) {
    this.#world = world;
    this.#burst = burst;
    this.#calls = calls;
  }

  start(): void {
    this.#world.time.after(this.#world.random.between(30, 200), () => {
      if (!this.#isOn) return;
      for (let sent = 0; sent < this.#burst; sent += 1) this.#send();
      this.start();
    });
  }

  stop(): void {
    this.#isOn = false;
  }

  get streamsRead(): number {
    return this.#streams.filter(({ ends }) => ends[0] === 'completed').length;
  }

  check(): string[] {
    const violations: string[] = [];
    for (const { id, actor, sum } of this.#volatile) {
      if (sum !== undefined && !this.#world.instances.gave(actor, id, sum)) {
        violations.push(`${id} was answered ${sum}, which no activation gave`);
      }
    }
    for (const stream of this.#streams) violations.push(...checkStream(stream));
    return violations;
  }

  #send(): void {
    const { random } = this.#world;
    if (this.#world.living.length === 0) return;
    this.#sent += 1;
    const id = `r${this.#sent}`;
    // Pick a living process at send time: a repeat comes later, and dead processes send nothing.
    const anyProcess = (): SimulatedProcess => random.pick(this.#world.living);
    const from = anyProcess();
    const kindOfCall = random.fraction();
    if (kindOfCall < 0.06) this.#read(from, id);
    else if (kindOfCall < 0.18) this.#repeat(() => this.#visit(anyProcess(), random.pick(visitorKeys), id));
    else if (kindOfCall < 0.28) this.#grant(from, id);
    else if (kindOfCall < 0.32) this.#work(from);
    else if (kindOfCall < 0.36) this.#timer(from);
    else {
      const isLong = random.chance(0.15);
      const key = random.pick(isLong ? workerKeys : ledgerKeys);
      this.#repeat(() => this.#call(anyProcess(), isLong ? 'worker' : 'ledger', key, id));
    }
  }

  /** Sends the same request again in some cases, at once or a little later. */
  #repeat(send: () => void): void {
    const { random, time } = this.#world;
    send();
    if (!random.chance(0.15)) return;
    if (random.chance(0.5)) send();
    else time.after(random.between(1, 300), () => this.#world.living.length > 0 && send());
  }

  #call(from: SimulatedProcess, kindName: 'ledger' | 'worker' | 'grants', key: string, id: string): void {
    const kind = from[kindName];
    const call: SentCall = {
      id,
      counter: addressText({ kind: kind.name, group: 'acme', key }),
      origin: from.host,
      sentAtMs: this.#world.time.monotonicMs(),
      isRecorded: kindName !== 'grants',
      outcome: 'open',
      sum: undefined,
      error: undefined,
    };
    this.#calls.push(call);
    const options = kindName === 'grants' ? { deadlineMs: 9_000 } : { requestId: id, deadlineMs: 9_000 };
    this.#actor(from, kind, key)
      .add({ amount: 1 }, options)
      .then(
        ({ sum }) => {
          call.outcome = 'answered';
          call.sum = sum;
          call.answeredAtMs = this.#world.time.monotonicMs();
        },
        (error: unknown) => {
          call.outcome = 'failed';
          call.error = String(error);
        },
      );
  }

  #grant(from: SimulatedProcess, id: string): void {
    this.#call(from, 'grants', this.#world.random.pick(grantKeys), id);
  }

  #visit(from: SimulatedProcess, key: string, id: string): void {
    const actor = addressText({ kind: from.visitors.name, group: 'acme', key });
    const call: VolatileCall = { id, actor, sum: undefined };
    this.#volatile.push(call);
    this.#actor(from, from.visitors, key)
      .add({ amount: 1 }, { requestId: id, deadlineMs: 4_000 })
      .then(
        ({ sum }) => {
          call.sum = sum;
        },
        // A typed error says that the call may have run, so there is nothing to check.
        () => undefined,
      );
  }

  #read(from: SimulatedProcess, id: string): void {
    const { random } = this.#world;
    const to = random.between(3, 25);
    const stream: ReadStream = { id, origin: from.host, to, numbers: [], ends: [] };
    this.#streams.push(stream);
    const numbers = this.#actor(from, from.visitors, random.pick(visitorKeys)).count(
      { after: 0, to, pauseMs: random.between(20, 200) },
      { deadlineMs: 9_000 },
    );
    from.streams.add(numbers);
    void (async () => {
      try {
        for await (const { number } of numbers) stream.numbers.push(number);
        stream.ends.push('completed');
      } catch (error) {
        stream.ends.push(error instanceof ClusterError ? error.tag : `untyped: ${String(error)}`);
      }
      from.streams.delete(numbers);
    })();
  }

  #work(from: SimulatedProcess): void {
    const { random, rows } = this.#world;
    const key = random.pick(workKeys);
    rows.writeWork(key, from.node.slotOf(from.ledger, 'acme', key));
    if (random.chance(0.5)) from.recovery.hint();
  }

  #timer(from: SimulatedProcess): void {
    const { random, rows, living } = this.#world;
    const slot = from.node.slotOf(from.ledger, 'acme', `t${this.#sent}`);
    const timer = rows.writeTimer(slot, random.between(200, 6_000));
    if (!random.chance(0.5)) return;
    for (const { timers } of living) timers.armed(timer);
  }

  #actor(from: SimulatedProcess, kind: ActorKindOf<CounterService>, key: string) {
    return from.node.actor(kind, 'acme', key);
  }
}

function checkStream({ id, origin, to, numbers, ends }: ReadStream): string[] {
  const violations: string[] = [];
  const [how] = ends;
  if (how === undefined && !origin.isDead) violations.push(`stream ${id} never ended`);
  if (ends.length > 1) violations.push(`stream ${id} ended ${ends.length} times`);
  if (how?.startsWith('untyped') === true) violations.push(`stream ${id} ended ${how}`);
  if (numbers.some((number, index) => number !== index + 1)) {
    violations.push(`stream ${id} delivered ${numbers.join(' ')}`);
  }
  if (how === 'completed' && numbers.length < to) {
    violations.push(`stream ${id} ended as completed at ${numbers.length} of ${to}`);
  }
  return violations;
}
