import type { FlatObject, MetadataEvent } from '../invocation/index.js';
import type { RecordedStep } from '../turns/index.js';
import type { RequestedTurn } from './requests.js';
import { type ApprovalRow, type ExecutionRow, isFinished, type StepRow } from './rows.js';
import { type LoggedEvent, TurnLog } from './turn-log.js';

/** The types of events that a change of the control mode retracts if they were not sent. */
const textTypes: ReadonlySet<string> = new Set(['delta', 'thinking', 'response']);

/** One turn in the memory of its session's actor: its row, its events, and the data that is stored nowhere. */
export class LiveTurn {
  row: ExecutionRow;
  readonly log: TurnLog;
  readonly steps: RecordedStep[];
  /** The calls that people decide on, or decided on. */
  approvals: readonly ApprovalRow[];
  /** Resolves when the row is stored. */
  accepted: Promise<void> = Promise.resolve();
  /** Aborts a running turn; the reason is an `EndedBy`. */
  readonly abort = new AbortController();
  /** The tools' values, which are not stored; undefined until a request brings them. */
  bindings: FlatObject | undefined;
  /** Values for tools as received, before secrets were redacted for storage. */
  context: FlatObject | undefined;
  /** Events before this index lost their text to a change of the control mode. */
  mutedTo = 0;
  muted = false;
  /** The text of the answer that readers were sent, as far as it is known after a change of the process. */
  sentText = '';
  /** The ledger writes of the turn's model calls. They resolve even if a write failed. */
  readonly ledgerWrites: Promise<void>[] = [];
  /** Settles once the turn's last events have been shown; undefined until its end is being written. */
  ending: Promise<void> | undefined;
  /** This activation has started the turn. */
  isClaimed = false;
  /** The deadline of the turn, by the monotonic clock; undefined until it runs. */
  deadlineAtMs: number | undefined;
  #onBindings: (() => void) | undefined;

  constructor(
    row: ExecutionRow,
    epoch: number,
    steps: readonly StepRow[] = [],
    approvals: readonly ApprovalRow[] = [],
  ) {
    this.row = row;
    this.log = new TurnLog(epoch);
    this.steps = steps.map(recorded);
    this.approvals = approvals;
  }

  get finished(): boolean {
    return isFinished(this.row);
  }

  /** Whether a process has begun the turn, also if it waited for people since. */
  get hasBegun(): boolean {
    return this.row.attempts > 0 || this.row.input.message_number !== undefined;
  }

  /**
   * How the turn ends if nothing else ends it first. A takeover or a cancellation counts before it is stored, since it is
   * confirmed once it is; only then is the turn aborted.
   */
  get stoppedAs(): 'SUSPENDED' | 'CANCELLED' | undefined {
    if (this.muted) return 'SUSPENDED';
    return this.row.cancelled_by === null ? undefined : 'CANCELLED';
  }

  /** Takes the values that are not stored from a repeated request for the turn. */
  addUnstoredValues({ bindings, context }: RequestedTurn): void {
    if (hasValues(context)) this.context ??= context;
    if (!hasValues(bindings) || this.bindings !== undefined) return;
    this.bindings = bindings;
    this.#onBindings?.();
  }

  /** Of a turn that waited for people, from its row. */
  restoreBindings(unseal: (sealed: string, executionId: string) => string): void {
    const { sealed_bindings: sealed, id } = this.row;
    if (sealed !== null) this.bindings ??= scalars(unseal(sealed, id));
  }

  get lacksBindings(): boolean {
    return this.row.input.needs_bindings && this.bindings === undefined;
  }

  /** Resolves when a request has brought the bindings. */
  bindingsReceived(): Promise<void> {
    return new Promise((resolve) => {
      this.#onBindings = resolve;
    });
  }

  /** From now on, readers get no text of the answer, neither old nor new. */
  mute(): void {
    this.muted = true;
    this.mutedTo = this.log.events.length;
  }

  /** The events that a reader at this index may still see, up to another index. */
  eventsFrom(place: number, until?: number): readonly LoggedEvent[] {
    const events = this.log.events.slice(place, until);
    return this.mutedTo <= place ? events : events.filter((event, at) => this.#visible(event, place + at));
  }

  visibleEvents(): readonly LoggedEvent[] {
    return this.eventsFrom(0);
  }

  #visible({ event }: LoggedEvent, place: number): boolean {
    return place >= this.mutedTo || !textTypes.has(event.type);
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
}): MetadataEvent {
  return {
    type: 'metadata',
    accepted_fields: input.accepted_fields,
    ignored_fields: input.ignored_fields,
    session_id: session_id ?? '',
    execution_id: id,
  };
}

export function hasValues(object: FlatObject): boolean {
  for (const name in object) if (Object.hasOwn(object, name)) return true;
  return false;
}

/** Parses JSON that this platform wrote: a flat object of scalars. */
export function scalars(json: string): FlatObject {
  return JSON.parse(json) as FlatObject;
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
