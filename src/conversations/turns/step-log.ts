/**
 * The steps of a turn as they are recorded. Steps are numbered in the order in which they begin. Recorded results
 * alone determine that order, so a turn that is run again finds its old steps under their numbers. A record waits
 * until a later action requires it: a step's start is recorded together with the results of the steps before it,
 * and the last result with the outcome.
 */
import type { Time } from '../../../cluster/index.js';
import { TurnLost } from './interruption.js';
import type { RecordedStep, StepDetail, StepKind, TurnPorts, Wait } from './turn.js';

export interface Step {
  readonly number: number;
  readonly kind: StepKind;
  readonly name: string;
  readonly startedAt: string;
  /** Started by an earlier process that did not record its end. */
  readonly again: boolean;
  /** The end that an earlier process recorded. */
  readonly ended: RecordedStep | undefined;
  /** The steps of a sub-agent that an earlier run left when it waited for an approval. */
  readonly parked: Parked | undefined;
}

/** A sub-agent that waited. */
export interface Parked {
  readonly steps: readonly RecordedStep[];
  /** Undefined for a draft. */
  readonly version: number | undefined;
}

export type StepEnd = Exclude<RecordedStep['state'], 'started'>;

export class StepLog {
  readonly #ports: Pick<TurnPorts, 'record'>;
  readonly #time: Time;
  readonly #recorded: ReadonlyMap<number, RecordedStep>;
  readonly #waiting = new Map<number, RecordedStep>();
  #next = 1;

  constructor(recorded: readonly RecordedStep[], ports: Pick<TurnPorts, 'record'>, time: Time) {
    this.#ports = ports;
    this.#time = time;
    this.#recorded = new Map(recorded.map((step) => [step.number, step]));
  }

  /** The number of the step that begins next. */
  get nextNumber(): number {
    return this.#next;
  }

  /** The recorded steps that this run has not come to. */
  get unread(): readonly RecordedStep[] {
    return [...this.#recorded.values()].filter(({ number }) => number >= this.#next);
  }

  /** The next step. Its start waits to be recorded, unless it already is. */
  begin(kind: StepKind, name: string, detail: StepDetail | null = null): Step {
    const number = this.#next++;
    const found = this.#recorded.get(number);
    if (found !== undefined && found.kind === kind && found.name === name) {
      const ended = found.state === 'started' || found.detail === null ? undefined : found;
      const parked = ended === undefined ? parkedIn(found) : undefined;
      return { number, kind, name, startedAt: found.startedAt, again: ended === undefined, ended, parked };
    }
    const startedAt = this.#now();
    this.#waiting.set(number, {
      number,
      kind,
      name,
      state: 'started',
      startedAt,
      finishedAt: null,
      detail,
    });
    return { number, kind, name, startedAt, again: false, ended: undefined, parked: undefined };
  }

  /** Queues the result for the next record. */
  end({ number, kind, name, startedAt }: Step, state: StepEnd, detail: StepDetail | null): void {
    this.#waiting.set(number, {
      number,
      kind,
      name,
      state,
      startedAt,
      finishedAt: this.#now(),
      detail,
    });
  }

  /** Queues what the step has to keep while it is not over. */
  keep({ number, kind, name, startedAt }: Step, detail: StepDetail): void {
    this.#waiting.set(number, { number, kind, name, state: 'started', startedAt, finishedAt: null, detail });
  }

  /** Durable when it resolves. */
  async flush(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const steps = this.takeWaiting();
    try {
      await this.#ports.record(steps);
    } catch (error) {
      throw new TurnLost(error);
    }
  }

  /** The steps that remain for the record of the outcome. */
  takeWaiting(): readonly RecordedStep[] {
    const steps = [...this.#waiting.values()];
    this.#waiting.clear();
    return steps;
  }

  #now(): string {
    return new Date(this.#time.wallMs()).toISOString();
  }
}

function parkedIn({ detail }: RecordedStep): Parked | undefined {
  if (detail?.step !== 'tool' || detail.parked === undefined) return undefined;
  return { steps: detail.parked, version: detail.parkedVersion };
}

/**
 * How long earlier processes worked on the turn, as far as they recorded it; the time between them does not count, nor
 * the time that the turn waited for people.
 */
export function workedMs(recorded: readonly RecordedStep[], waits: readonly Wait[] = []): number {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const moment of momentsOf(recorded)) {
    first = Math.min(first, moment);
    last = Math.max(last, moment);
  }
  const waited = waits.filter(({ fromMs, toMs }) => first <= fromMs && toMs <= last);
  return Math.max(0, last - first - waited.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0));
}

/** A step of a sub-agent that waits has not ended; the steps of the sub-agent say how long it worked. */
function* momentsOf(recorded: readonly RecordedStep[]): Generator<number> {
  for (const step of recorded) {
    yield Date.parse(step.startedAt);
    if (step.finishedAt !== null) yield Date.parse(step.finishedAt);
    const parked = parkedIn(step);
    if (parked !== undefined) yield* momentsOf(parked.steps);
  }
}
