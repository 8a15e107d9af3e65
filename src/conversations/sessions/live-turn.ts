import type { Turn } from '../../../generated/troupe/actors/v1/session.js';
import type { RecordedStep, Scalar } from '../turns/index.js';
import { type ExecutionRow, isFinished, type StepRow } from './rows.js';
import { type LoggedEvent, TurnLog } from './turn-log.js';

/** Text that a change of the control mode takes back as long as it was not sent. */
const textTypes: ReadonlySet<string> = new Set(['delta', 'thinking', 'response']);

/** One turn in the memory of its session's actor: its row, its events, and what is known of it only here. */
export class LiveTurn {
  row: ExecutionRow;
  readonly log: TurnLog;
  readonly steps: RecordedStep[];
  /** Resolves when the row is in the store. */
  accepted: Promise<void> = Promise.resolve();
  /** Ends a running turn; its reason is an `EndedBy`. */
  readonly abort = new AbortController();
  /** Tools' values that are stored nowhere, as long as somebody told them. */
  bindings: Readonly<Record<string, Scalar>> | undefined;
  /** Values for tools as they came, before secrets were taken out for the store. */
  context: Readonly<Record<string, Scalar>> | undefined;
  /** Events before this place lost their text to a change of the control mode. */
  mutedTo = 0;
  muted = false;
  /** What readers were sent of the answer. */
  sentText = '';
  /** What its calls used, on the way into the books; settled, whatever became of it. */
  readonly bookings: Promise<void>[] = [];
  /** Settles once its last events have been shown; undefined until its end is being written. */
  ending: Promise<void> | undefined;
  /** When its owner must have answered, by the monotonic clock; undefined until it runs. */
  deadlineAtMs: number | undefined;
  #onBindings: (() => void) | undefined;

  constructor(row: ExecutionRow, epoch: number, steps: readonly StepRow[] = []) {
    this.row = row;
    this.log = new TurnLog(epoch);
    this.steps = steps.map(recorded);
  }

  get finished(): boolean {
    return isFinished(this.row);
  }

  /** Whoever asks for the turn again brings along what no store holds. */
  bring({ bindingsJson, contextJson }: Turn): void {
    if (contextJson !== '') this.context ??= scalars(contextJson);
    if (bindingsJson === '' || this.bindings !== undefined) return;
    this.bindings = scalars(bindingsJson);
    this.#onBindings?.();
  }

  get lacksBindings(): boolean {
    return this.row.input.needs_bindings && this.bindings === undefined;
  }

  /** Resolves when somebody has brought the bindings. */
  bindingsBrought(): Promise<void> {
    return new Promise((resolve) => {
      this.#onBindings = resolve;
    });
  }

  /** From here on nothing of the answer reaches a reader, sent before or not. */
  mute(): void {
    this.muted = true;
    this.mutedTo = this.log.events.length;
  }

  /** What a reader at this place may still see. */
  eventsFrom(place: number): readonly LoggedEvent[] {
    const events = this.log.events.slice(place);
    return this.mutedTo <= place ? events : events.filter((event, at) => this.#visible(event, place + at));
  }

  visibleEvents(): readonly LoggedEvent[] {
    return this.eventsFrom(0);
  }

  #visible({ type }: LoggedEvent, place: number): boolean {
    return place >= this.mutedTo || !textTypes.has(type);
  }

  keepSteps(steps: readonly RecordedStep[]): void {
    for (const step of steps) this.steps[step.number - 1] = step;
  }
}

/** The first event of every turn's log. */
export function metadataOf({
  input,
  session_id,
  id,
}: Pick<ExecutionRow, 'session_id' | 'id'> & {
  readonly input: Pick<ExecutionRow['input'], 'accepted_fields' | 'ignored_fields'>;
}): object {
  return {
    accepted_fields: input.accepted_fields,
    ignored_fields: input.ignored_fields,
    session_id,
    execution_id: id,
  };
}

/** JSON that this platform wrote: a flat object of scalars. */
export function scalars(json: string): Readonly<Record<string, Scalar>> {
  return JSON.parse(json) as Record<string, Scalar>;
}

export function stepRow(execution: ExecutionRow, step: RecordedStep): StepRow {
  return {
    tenant_id: execution.tenant_id,
    execution_id: execution.id,
    number: step.number,
    kind: step.kind,
    name: step.name,
    state: step.state,
    detail: step.detail,
    started_at: step.startedAt,
    finished_at: step.finishedAt,
  };
}

function recorded(row: StepRow): RecordedStep {
  return {
    number: row.number,
    kind: row.kind as RecordedStep['kind'],
    name: row.name,
    state: row.state as RecordedStep['state'],
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    detail: row.detail as RecordedStep['detail'],
  };
}
