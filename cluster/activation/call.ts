import { ClusterError } from '../errors.js';
import type { ActorKind, Epoch, RequestId } from '../ids/ids.js';
import type { Arrival } from '../mailbox/arrivals.js';
import type { Lane, Mail } from '../mailbox/mailbox.js';
import type { Deadlined, Deadlines } from '../time/deadlines.js';
import type { Method } from './method.js';

/** Receives the answer of a call: a promise of this process, or a link. The call ends once. */
export interface ReplySink {
  reply(value: unknown): void;
  fail(error: ClusterError): void;
  /** Streams: a handler has started, in an activation with this epoch. */
  opened(epoch: Epoch): void;
  /** Streams: one message; returns its cost in credit. `cost`: of a message that another process sent. */
  item(value: unknown, cost?: number): number;
  /** Streams: the last message was sent. */
  end(): void;
}

/** The properties of a call, whether it is local or came over a link. */
export interface CallOrigin {
  readonly method: Method;
  readonly group: string;
  readonly requestId: RequestId;
  /** The caller gave the request id and may repeat the call. Otherwise the id only names the call in logs. */
  readonly repeatable: boolean;
  readonly deadlineAtMs: number;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  /** Kind and key of each actor whose turn waits for this call. */
  readonly chain: readonly string[];
}

/** What feeds the answers of a call: a handler of this process, or another process that a call was forwarded to. */
export interface AnswerSource {
  /** Streams: the reader has taken messages of this cost. */
  grant(credit: number): void;
  /** The call has ended otherwise. */
  cancel(error: ClusterError): void;
}

/** What a running call may ask of the message loop. */
export interface CallRunner {
  letNextIn(call: Call): void;
}

export interface CallTarget {
  readonly kind: { readonly name: ActorKind };
  /** `group NUL key`. */
  readonly text: string;
}

/** One call on its way through an actor. Handlers see its public part. */
export class Call implements Mail, Deadlined, Arrival {
  readonly bytes: number;
  #credit: number;
  #input: unknown;
  readonly #to: CallTarget;
  readonly #origin: CallOrigin;
  #sink: ReplySink;
  readonly #deadlines: Deadlines | undefined;

  deadlineNext: Deadlined | undefined = undefined;
  deadlinePrevious: Deadlined | undefined = undefined;
  /** When the call reached its actor; once it has started, when it started. By the loop clock. */
  arrivedAtMs = 0;
  laterArrival: Arrival | undefined = undefined;
  earlierArrival: Arrival | undefined = undefined;
  /** Set by the handler's answer, the deadline, the caller's cancel or the end of the activation. */
  ended = false;
  /** A handler has started. Until then the call may be resent, whatever its method does. */
  begun = false;
  /** Called if the call ends while it waits; set by the message loop. */
  onEndedWaiting: ((call: Call) => void) | undefined = undefined;
  /** Called with the outcome, to answer repeats that joined this call by request id. */
  onOutcome: ((error: ClusterError | undefined, value: unknown) => void) | undefined = undefined;
  /** Set by the answer memory: until when repeats wait for the answer; undefined if none does. */
  awaitedUntilMs: (() => number | undefined) | undefined = undefined;
  /** Its caller has gone before the answer came; it goes on for repeats. */
  left = false;
  /** Set while the handler runs. */
  runner: CallRunner | undefined = undefined;
  /** The cell that runs it. */
  cell: object | undefined = undefined;
  source: AnswerSource | undefined = undefined;
  #abort: AbortController | undefined = undefined;

  /** Without `deadlines` the creator of the call watches its deadline. */
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
    this.#input = input;
    this.bytes = size.bytes;
    this.#credit = size.credit;
    this.#sink = sink;
    this.#deadlines = deadlines;
    deadlines?.add(this);
  }

  /** It gets the answer of another call, and waits for it without its request. */
  joined(): void {
    this.#input = undefined;
  }

  /** Undefined once the call has ended in a mailbox, whose owner may be busy for long, or has joined another. */
  get input(): unknown {
    return this.#input;
  }

  /** What the reader of a stream has granted so far, also while the call waited: the source starts with all of it. */
  get credit(): number {
    return this.#credit;
  }

  get method(): Method {
    return this.#origin.method;
  }

  get lane(): Lane {
    return this.#origin.method.lane;
  }

  get streams(): boolean {
    return this.#origin.method.streams;
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
    return (this.left ? this.awaitedUntilMs?.() : undefined) ?? this.#origin.deadlineAtMs;
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

  /** Names the called actor in the chain of waiting turns; empty for a control call, which waits for no turn. */
  get actor(): string {
    return this.lane === 'turn' ? `${this.#to.kind.name}\0${this.#to.text}` : '';
  }

  /**
   * Aborted when the activation ends, and at the deadline or on the caller's cancel unless repeats wait for the answer.
   * Created on first use.
   */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.ended) this.#abort.abort(new ClusterError('cancelled', 'the call has ended'));
    }
    return this.#abort.signal;
  }

  /**
   * Starts the next turn now, before this one returns. For kinds that accept further messages while a commit is
   * pending (protocol 1.6). This call is still answered only when its handler returns.
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
    if (waited && this.onEndedWaiting !== undefined) {
      this.onEndedWaiting(this);
      this.#input = undefined;
    }
    this.#abort?.abort(error);
    this.#sink.fail(error);
    this.onOutcome?.(error, undefined);
    this.source?.cancel(error);
  }

  openedStream(epoch: Epoch): void {
    if (!this.ended) this.#sink.opened(epoch);
  }

  item(value: unknown, cost?: number): number {
    return this.ended ? 0 : this.#sink.item(value, cost);
  }

  endStream(): void {
    if (!this.#finish()) return;
    this.#sink.end();
    this.onOutcome?.(undefined, undefined);
  }

  grant(credit: number): void {
    this.#credit += credit;
    this.source?.grant(credit);
  }

  cancel(): void {
    this.#leave(new ClusterError('cancelled', `${this.method.name} was cancelled by its caller`));
  }

  onDeadline(): void {
    this.#leave(
      new ClusterError(
        'deadline_exceeded',
        `${this.method.name} ${this.begun ? 'did not finish' : 'did not start'} in time`,
        this.begun ? {} : { notBegun: true },
      ),
    );
  }

  /** The caller waits no longer. Those of repeats do, who neither cancelled nor have its deadline. */
  #leave(error: ClusterError): void {
    if (this.ended || this.awaitedUntilMs?.() === undefined) {
      this.fail(error);
      return;
    }
    this.left = true;
    this.#deadlines?.remove(this);
    const sink = this.#sink;
    this.#sink = nobody;
    sink.fail(error);
  }

  #finish(): boolean {
    if (this.ended) return false;
    this.ended = true;
    this.#deadlines?.remove(this);
    return true;
  }
}

const nobody: ReplySink = { reply() {}, fail() {}, opened() {}, item: () => 0, end() {} };
