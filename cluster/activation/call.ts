import { ClusterError } from '../errors.js';
import type { ActorKind, Epoch, RequestId } from '../ids/ids.js';
import type { Arrival } from '../mailbox/arrivals.js';
import type { Lane, Mail } from '../mailbox/mailbox.js';
import type { Outflow } from '../streams/outflow.js';
import type { Deadlined, Deadlines } from '../time/deadlines.js';
import type { Method } from './method.js';

/** Where the answer of a call goes: a promise of this process, or a link. Called at most once per end. */
export interface ReplySink {
  reply(value: unknown): void;
  fail(error: ClusterError): void;
  /** Streams: a handler has begun, in an activation of this epoch. */
  opened(epoch: Epoch): void;
  /** Streams: one message; returns its cost in credit. */
  item(value: unknown): number;
  /** Streams: all messages were sent. */
  end(): void;
}

/** What a call is, whichever way it comes. */
export interface CallOrigin {
  readonly method: Method;
  readonly group: string;
  readonly requestId: RequestId;
  /** Given by a caller that may repeat it; else the id only names the call in logs. */
  readonly repeatable: boolean;
  readonly deadlineAtMs: number;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  /** Texts of the actors whose turns wait for this call. */
  readonly chain: readonly string[];
}

/** Where a call runs: what may be asked of it from within a handler. */
export interface CallRunner {
  letNextIn(call: Call): void;
}

export interface CallTarget {
  readonly kind: { readonly name: ActorKind };
  /** `group NUL key`. */
  readonly text: string;
}

/** One call on its way through an actor; handlers see the public part of it. */
export class Call implements Mail, Deadlined, Arrival {
  readonly input: unknown;
  readonly bytes: number;
  readonly credit: number;
  readonly #to: CallTarget;
  readonly #origin: CallOrigin;
  readonly #sink: ReplySink;
  readonly #deadlines: Deadlines | undefined;

  deadlineNext: Deadlined | undefined = undefined;
  deadlinePrevious: Deadlined | undefined = undefined;
  /** When it came to its actor; from its begin on, when that was. By the clock of the loop. */
  arrivedAtMs = 0;
  laterArrival: Arrival | undefined = undefined;
  earlierArrival: Arrival | undefined = undefined;
  /** Answered: by its handler, its deadline, its caller's cancel or the end of the activation. */
  ended = false;
  /** A handler has begun; before that the call may be sent elsewhere whatever it does. */
  begun = false;
  /** Told when the call ended while it waited; set by the mailbox's owner. */
  onEndedWaiting: ((call: Call) => void) | undefined = undefined;
  /** Told how the call ended, for those who joined it by request id. */
  onOutcome: ((error: ClusterError | undefined, value: unknown) => void) | undefined = undefined;
  /** Set while the handler runs. */
  runner: CallRunner | undefined = undefined;
  /** The actor in memory that runs it. */
  cell: object | undefined = undefined;
  outflow: Outflow<unknown> | undefined = undefined;
  #abort: AbortController | undefined = undefined;

  /** Without `deadlines` the maker of the call watches its deadline. */
  constructor(
    to: CallTarget,
    origin: CallOrigin,
    input: unknown,
    size: { readonly bytes: number; readonly credit: number },
    sink: ReplySink,
    deadlines?: Deadlines,
  ) {
    this.#to = to;
    this.#origin = origin;
    this.input = input;
    this.bytes = size.bytes;
    this.credit = size.credit;
    this.#sink = sink;
    this.#deadlines = deadlines;
    deadlines?.add(this);
  }

  get method(): Method {
    return this.#origin.method;
  }

  get lane(): Lane {
    return this.#origin.method.lane;
  }

  get group(): string {
    return this.#origin.group;
  }

  get requestId(): RequestId {
    return this.#origin.requestId;
  }

  get repeatable(): boolean {
    return this.#origin.repeatable;
  }

  get deadlineAtMs(): number {
    return this.#origin.deadlineAtMs;
  }

  get traceparent(): string | undefined {
    return this.#origin.traceparent;
  }

  get tracestate(): string | undefined {
    return this.#origin.tracestate;
  }

  get chain(): readonly string[] {
    return this.#origin.chain;
  }

  /** Names the called actor in the chain of waiting turns; empty for a control call, which waits for nobody. */
  get actor(): string {
    return this.lane === 'turn' ? `${this.#to.kind.name}\0${this.#to.text}` : '';
  }

  /** Aborted at the deadline, at the caller's cancel and when the activation ends. Made when first asked for. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.ended) this.#abort.abort(new ClusterError('cancelled', 'the call has ended'));
    }
    return this.#abort.signal;
  }

  /**
   * For kinds that may take further messages while a commit is pending (protocol 1.6): lets the next turn
   * in now. The answer of this one is still given only when its handler returns.
   */
  letNextIn(): void {
    this.runner?.letNextIn(this);
  }

  reply(value: unknown): void {
    if (!this.#finish()) return;
    this.#sink.reply(value);
    this.onOutcome?.(undefined, value);
  }

  fail(error: ClusterError): void {
    const waited = !this.begun;
    if (!this.#finish()) return;
    if (waited) this.onEndedWaiting?.(this);
    this.#abort?.abort(error);
    this.#sink.fail(error);
    this.onOutcome?.(error, undefined);
    this.outflow?.cancel(error);
  }

  openedStream(epoch: Epoch): void {
    if (!this.ended) this.#sink.opened(epoch);
  }

  item(value: unknown): number {
    return this.ended ? 0 : this.#sink.item(value);
  }

  endStream(): void {
    if (!this.#finish()) return;
    this.#sink.end();
    this.onOutcome?.(undefined, undefined);
  }

  grant(credit: number): void {
    this.outflow?.grant(credit);
  }

  cancel(): void {
    this.fail(new ClusterError('cancelled', `${this.method.name} was cancelled by its caller`));
  }

  onDeadline(): void {
    this.fail(
      new ClusterError(
        'deadline_exceeded',
        `${this.method.name} ${this.begun ? 'did not finish' : 'was not begun'} in time`,
        this.begun ? {} : { notBegun: true },
      ),
    );
  }

  #finish(): boolean {
    if (this.ended) return false;
    this.ended = true;
    this.#deadlines?.remove(this);
    return true;
  }
}
