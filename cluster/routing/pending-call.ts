import type { Call, ReplySink } from '../activation/call.js';
import type { Method } from '../activation/method.js';
import { ClusterError, toClusterError } from '../errors.js';
import { epoch, type Epoch, type RequestId } from '../ids/ids.js';
import {
  decodeMessage,
  itemOverheadBytes,
  type RemoteAnswer,
  type RemoteCall,
} from '../links/remote-call.js';
import type { ReplyStream } from '../streams/reply-stream.js';
import type { Deadlined } from '../time/deadlines.js';
import type { Timer } from '../time/time.js';
import type { Target } from './target.js';

/** What the router does for a call that is out. */
export interface PendingHost {
  attemptFailed(pending: PendingCall, error: ClusterError): void;
  /** Told once, when the call has its answer. */
  ended(pending: PendingCall): void;
  /** What a message costs that stays in this process, where it has no bytes. */
  readonly localItemCost: number;
}

export interface PendingOrigin {
  readonly target: Target;
  readonly method: Method;
  readonly input: unknown;
  readonly requestId: RequestId;
  readonly repeatable: boolean;
  readonly deadlineAtMs: number;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly group: string;
  readonly chain: readonly string[];
}

type Settle =
  | { readonly as: 'one'; resolve(value: unknown): void; reject(error: ClusterError): void }
  | { readonly as: 'stream'; readonly stream: ReplyStream<unknown> };

/** One call of this process, over all its attempts, until its one end. */
export class PendingCall implements ReplySink, Deadlined {
  readonly origin: PendingOrigin;
  readonly deadlineAtMs: number;
  deadlineNext: Deadlined | undefined = undefined;
  deadlinePrevious: Deadlined | undefined = undefined;
  readonly #host: PendingHost;
  readonly #settle: Settle;
  /** The attempt that is out: here, there, or none. */
  local: Call | undefined = undefined;
  remote: RemoteCall | undefined = undefined;
  done = false;
  hops = 0;
  attempts = 0;
  lastError: ClusterError | undefined = undefined;
  pause: Timer | undefined = undefined;
  signals: { readonly signal: AbortSignal; readonly onAbort: () => void }[] | undefined = undefined;
  /** The newest activation that answered a message of a stream. */
  epoch: Epoch = epoch(0);
  #last: unknown = undefined;
  #received = 0;

  constructor(origin: PendingOrigin, settle: Settle, host: PendingHost) {
    this.origin = origin;
    this.deadlineAtMs = origin.deadlineAtMs;
    this.#settle = settle;
    this.#host = host;
  }

  /** The request of the next attempt; undefined when messages were seen and the method cannot go on. */
  nextInput(): { readonly input: unknown } | undefined {
    if (this.#received === 0) return { input: this.origin.input };
    const resume = this.origin.method.resume;
    return resume === undefined ? undefined : { input: resume(this.origin.input, this.#last) };
  }

  // ── from an actor of this process

  reply(value: unknown): void {
    if (this.#settle.as === 'one' && this.#finish()) this.#settle.resolve(value);
  }

  item(value: unknown): number {
    this.#push(value, this.#host.localItemCost);
    return this.#host.localItemCost;
  }

  end(): void {
    if (this.#settle.as === 'stream' && this.#finish()) this.#settle.stream.finish();
  }

  fail(error: ClusterError): void {
    this.local = undefined;
    this.remote = undefined;
    if (!this.done) this.#host.attemptFailed(this, error);
  }

  /** For an attempt over a link: the same answers, in bytes. */
  remoteAnswer(): RemoteAnswer {
    return new DecodedAnswer(this);
  }

  /** A message of a stream that came over a link. */
  remoteItem(value: unknown, bytes: number): void {
    this.#push(value, bytes + itemOverheadBytes);
  }

  onDeadline(): void {
    const attempted = this.local ?? this.remote;
    const error = new ClusterError('deadline_exceeded', `${this.origin.method.name} did not end in time`, {
      ...(attempted === undefined ? { notBegun: this.lastError?.notBegun ?? true } : {}),
      ...(this.lastError === undefined ? {} : { cause: this.lastError }),
    });
    this.stop(error);
  }

  /** Ends the call for its caller and cancels what is out. */
  stop(error: ClusterError): void {
    if (!this.#finish()) return;
    if (this.#settle.as === 'one') this.#settle.reject(error);
    else this.#settle.stream.finish(error);
    this.cancelAttempt();
  }

  cancelAttempt(): void {
    const { local, remote } = this;
    this.local = undefined;
    this.remote = undefined;
    local?.cancel();
    remote?.cancel();
  }

  grant(credit: number): void {
    this.local?.grant(credit);
    this.remote?.grant(credit);
  }

  /** The reader of the stream went away. */
  cancelStream(): void {
    if (this.#finish()) this.cancelAttempt();
  }

  /** A new attempt starts with a whole window of credit. */
  attachStream(): void {
    if (this.#settle.as === 'stream') {
      this.#settle.stream.attach({
        grant: (credit) => this.grant(credit),
        cancel: () => this.cancelStream(),
      });
    }
  }

  #push(value: unknown, cost: number): void {
    if (this.done || this.#settle.as !== 'stream') return;
    this.#received += 1;
    this.#last = value;
    this.#settle.stream.push(value, cost);
  }

  #finish(): boolean {
    if (this.done) return false;
    this.done = true;
    this.pause?.cancel();
    this.#host.ended(this);
    return true;
  }
}

/** A class, since one is made for each call that leaves the process. */
class DecodedAnswer implements RemoteAnswer {
  readonly #pending: PendingCall;

  constructor(pending: PendingCall) {
    this.#pending = pending;
  }

  opened(newest: Epoch): void {
    this.#pending.epoch = newest;
  }

  reply(bytes: Uint8Array): void {
    const { output } = this.#pending.origin.method;
    try {
      this.#pending.reply(decodeMessage(output, bytes));
    } catch (error) {
      this.#pending.stop(toClusterError(error, 'bad_message'));
    }
  }

  item(bytes: Uint8Array): void {
    const { output } = this.#pending.origin.method;
    try {
      this.#pending.remoteItem(decodeMessage(output, bytes), bytes.length);
    } catch (error) {
      this.#pending.stop(toClusterError(error, 'bad_message'));
    }
  }

  end(): void {
    this.#pending.end();
  }

  fail(error: ClusterError): void {
    this.#pending.fail(error);
  }
}
