/**
 * The steps of a turn as they are recorded. Steps are numbered in the order in which they begin, and everything that
 * decides on that order is in recorded results, so a turn that is run again meets its old steps under their numbers.
 *
 * What is to be recorded waits until something must not begin before it is: a step's start goes in one record with the
 * results of the steps before it, and the last result with the outcome.
 */
import type { Time } from '../../../cluster/index.js';
import { TurnLost } from './interruption.js';
import type { RecordedStep, StepDetail, StepKind, TurnPorts } from './turn.js';

export interface Step {
  readonly number: number;
  readonly kind: StepKind;
  readonly name: string;
  readonly startedAt: string;
  /** Begun by an earlier process that did not see it end. */
  readonly again: boolean;
  /** What an earlier process recorded as its end. */
  readonly ended: RecordedStep | undefined;
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

  /** The next step; its start waits to be recorded unless it is already. */
  begin(kind: StepKind, name: string, detail: StepDetail | null = null): Step {
    const number = this.#next++;
    const found = this.#recorded.get(number);
    if (found !== undefined && found.kind === kind && found.name === name) {
      const ended = found.state === 'started' || found.detail === null ? undefined : found;
      return { number, kind, name, startedAt: found.startedAt, again: ended === undefined, ended };
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
    return { number, kind, name, startedAt, again: false, ended: undefined };
  }

  /** The result waits to be recorded. */
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

  /** What is left for the record of the outcome. */
  takeWaiting(): readonly RecordedStep[] {
    const steps = [...this.#waiting.values()];
    this.#waiting.clear();
    return steps;
  }

  #now(): string {
    return new Date(this.#time.wallMs()).toISOString();
  }
}

/** How long earlier processes worked on the turn, as far as they recorded it; the time between them does not count. */
export function workedMs(recorded: readonly RecordedStep[]): number {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { startedAt, finishedAt } of recorded) {
    for (const text of [startedAt, finishedAt]) {
      if (text === null) continue;
      first = Math.min(first, Date.parse(text));
      last = Math.max(last, Date.parse(text));
    }
  }
  return Math.max(0, last - first);
}
