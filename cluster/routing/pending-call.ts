import type { Call, ReplySink } from '../activation/call.js';
import type { Method } from '../activation/method.js';
import type { CallOptions } from '../activation/service.js';
import { ClusterError, toClusterError } from '../errors.js';
import { epoch, type Epoch, type ProcessId, type RequestId } from '../ids/ids.js';
import {
  decodeMessage,
  itemOverheadBytes,
  type RemoteAnswer,
  type RemoteCall,
} from '../links/remote-call.js';
import type { ReplyStream } from '../streams/reply-stream.js';
import type { EpochStream } from '../streams/stream-epochs.js';
import type { Deadlined } from '../time/deadlines.js';
import type { Timer } from '../time/time.js';
import { Origin } from './origin.js';
import type { Target } from './target.js';

/** What the router does for a pending call. */
export interface PendingHost {
  attemptFailed(pending: PendingCall, error: ClusterError): void;
  /** Called once, when the call has its answer. */
  ended(pending: PendingCall): void;
  /** A stream has started, under `pending.epoch`. */
  streamOpened(pending: PendingCall): void;
  /** An answer was given under this epoch. */
  epochSeen(pending: PendingCall, newest: Epoch): void;
  /** Credit cost of a message within this process, which has no bytes. */
  readonly localItemCost: number;
}

const noEpoch = epoch(0);

/** One call of this process over all its attempts, until it ends. */
export class PendingCall extends Origin implements ReplySink, Deadlined, EpochStream {
  deadlineNext: Deadlined | undefined = undefined;
  deadlinePrevious: Deadlined | undefined = undefined;
  readonly #host: PendingHost;
  /** How it ends: a call with one answer settles a promise; a stream ends its reader. */
  resolve: ((value: unknown) => void) | undefined = undefined;
  reject: ((error: ClusterError) => void) | undefined = undefined;
  stream: ReplyStream<unknown> | undefined = undefined;
  /** The current attempt: local, remote, or none. */
  local: Call | undefined = undefined;
  remote: RemoteCall | undefined = undefined;
  done = false;
  /** Target of the last attempt. */
  tried: ProcessId | undefined = undefined;
  hops = 0;
  attempts = 0;
  lastError: ClusterError | undefined = undefined;
  /** Since when attempts have failed because the durable store is unreachable. */
  storeAwaySinceMs: number | undefined = undefined;
  pause: Timer | undefined = undefined;
  signals: { readonly signal: AbortSignal; readonly onAbort: () => void }[] | undefined = undefined;
  /** Epoch of the activation that answers a stream. */
  epoch: Epoch = noEpoch;
  #last: unknown = undefined;
  #received = 0;

  constructor(
    host: PendingHost,
    target: Target,
    method: Method,
    input: unknown,
    id: RequestId,
    number: number,
    deadlineAtMs: number,
    options: CallOptions | undefined,
  ) {
    super(target, method, input, id, number, deadlineAtMs, options);
    this.#host = host;
  }

  /** The request of the next attempt; undefined if messages were received and the method cannot resume. */
  nextInput(): { readonly input: unknown } | undefined {
    if (this.#received === 0) return { input: this.input };
    const resume = this.method.resume;
    return resume === undefined ? undefined : { input: resume(this.input, this.#last) };
  }

  // // ── answers of a local actor

  reply(value: unknown): void {
    if (this.stream === undefined && this.#finish()) this.resolve?.(value);
  }

  opened(newest: Epoch): void {
    if (this.done || this.stream === undefined) return;
    this.epoch = newest;
    this.stream.opened(newest);
    this.#host.streamOpened(this);
  }

  item(value: unknown, cost = this.#host.localItemCost): number {
    this.#push(value, cost);
    return cost;
  }

  end(): void {
    if (this.stream !== undefined && this.#finish()) this.stream.finish();
  }

  fail(error: ClusterError): void {
    this.local = undefined;
    this.remote = undefined;
    if (!this.done) this.#host.attemptFailed(this, error);
  }

  epochSeen(newest: Epoch): void {
    this.#host.epochSeen(this, newest);
  }

  /** Receives the answer of a remote attempt, in bytes. */
  remoteAnswer(): RemoteAnswer {
    return new DecodedAnswer(this);
  }

  /** A message of a stream that arrived over a link. */
  remoteItem(value: unknown, bytes: number): void {
    this.#push(value, bytes + itemOverheadBytes);
  }

  superseded(by: Epoch): void {
    const message = `epoch ${this.epoch} of the actor was superseded by epoch ${by}`;
    const error = new ClusterError('fenced', message);
    const { local, remote } = this;
    // A local call reports back through `fail`; a remote call is cancelled silently.
    if (local !== undefined) local.fail(error);
    else {
      remote?.cancel();
      this.fail(error);
    }
  }

  onDeadline(): void {
    const attempted = this.local ?? this.remote;
    const error = new ClusterError('deadline_exceeded', `${this.method.name} did not end in time`, {
      ...(attempted === undefined ? { notBegun: this.lastError?.notBegun ?? true } : {}),
      ...(this.lastError === undefined ? {} : { cause: this.lastError }),
    });
    this.stop(error);
  }

  /** Ends the call for its caller and cancels the current attempt. */
  stop(error: ClusterError): void {
    if (!this.#finish()) return;
    if (this.stream === undefined) this.reject?.(error);
    else this.stream.finish(error);
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

  /** The reader cancelled the stream. */
  cancelStream(): void {
    if (this.#finish()) this.cancelAttempt();
  }

  /** A new attempt starts with a full credit window. */
  attachStream(): void {
    this.stream?.attach({
      grant: (credit) => this.grant(credit),
      cancel: () => this.cancelStream(),
    });
  }

  #push(value: unknown, cost: number): void {
    if (this.done || this.stream === undefined) return;
    this.#received += 1;
    this.#last = value;
    this.stream.push(value, cost);
  }

  #finish(): boolean {
    if (this.done) return false;
    this.done = true;
    this.pause?.cancel();
    this.#host.ended(this);
    return true;
  }
}

/** A class, because one is created per remote call. */
class DecodedAnswer implements RemoteAnswer {
  readonly #pending: PendingCall;

  constructor(pending: PendingCall) {
    this.#pending = pending;
  }

  opened(newest: Epoch): void {
    this.#pending.opened(newest);
  }

  reply(bytes: Uint8Array, newest: Epoch): void {
    const { output } = this.#pending.method;
    if (newest > 0) this.#pending.epochSeen(newest);
    try {
      this.#pending.reply(decodeMessage(output, bytes));
    } catch (error) {
      this.#pending.stop(toClusterError(error, 'bad_message'));
    }
  }

  item(bytes: Uint8Array): void {
    const { output } = this.#pending.method;
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
