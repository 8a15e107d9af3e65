import type { ActorTable } from '../activation/actor-table.js';
import { Call } from '../activation/call.js';
import type { Method } from '../activation/method.js';
import type { CallOptions } from '../activation/service.js';
import type { ClusterConfig } from '../config.js';
import { ClusterError, toClusterError } from '../errors.js';
import { requestId, type ActorKind, type Epoch, type RequestId } from '../ids/ids.js';
import type { Links } from '../links/links.js';
import { encodeMessage } from '../links/remote-call.js';
import type { Membership } from '../membership/membership.js';
import { SharedBound } from '../mailbox/fair-queue.js';
import { ReplyStream } from '../streams/reply-stream.js';
import { StreamEpochs } from '../streams/stream-epochs.js';
import { backoffMs } from '../time/backoff.js';
import type { Deadlines } from '../time/deadlines.js';
import type { Random, Time } from '../time/time.js';
import { PendingCall, type PendingHost } from './pending-call.js';
import type { Caller } from './reference.js';
import { retryAfter } from './retry.js';
import type { RingKeeper } from './ring-keeper.js';
import type { Target } from './target.js';

/**
 * Sends calls of this process to the owners of their actors.
 *
 * Normal operation: the ring names the owner. A local call goes into the actor's mailbox unencoded, a remote
 * one over the link. Change of view: a receiver that is no longer the owner answers "moved" and names its view;
 * the caller catches up and resends the call, under the same request id, to the new owner, at most `hopsMax`
 * times. Crash: the link breaks and every call on it fails at once. A call that no handler can have started
 * waits for the next view and is resent; one that may have run is repeated only if its method allows it,
 * otherwise its caller receives the error. Not guaranteed: that a call runs only once. That is ensured by the
 * row it writes, which is unique by request id (protocol 5.1).
 */
export interface RouterParts {
  readonly config: ClusterConfig;
  readonly time: Time;
  readonly random: Random;
  readonly deadlines: Deadlines;
  readonly membership: Membership;
  readonly rings: RingKeeper;
  readonly table: ActorTable;
  readonly links: Links;
}

export interface RouterCounts {
  localCalls: number;
  remoteCalls: number;
  movedAnswers: number;
  retries: number;
}

const retryPause = { baseMs: 20, maxMs: 500 };
/** How many messages of a stream within one process may wait for their reader. */
const localItemsMax = 64;

export class Router implements Caller, PendingHost {
  readonly #parts: RouterParts;
  readonly #paused = new Set<PendingCall>();
  readonly #room: SharedBound;
  readonly #streams = new StreamEpochs<PendingCall>();
  readonly localItemCost: number;
  readonly counts: RouterCounts = { localCalls: 0, remoteCalls: 0, movedAnswers: 0, retries: 0 };
  readonly #idPrefix: RequestId;
  #lastId = 0;

  constructor(parts: RouterParts) {
    this.#parts = parts;
    this.#room = new SharedBound(parts.config.nodeQueueMax);
    this.localItemCost = Math.ceil(parts.config.callCreditBytes / localItemsMax);
    // Unique in the cluster without a random number per call.
    this.#idPrefix = requestId(`${parts.random.id().slice(0, 16)}-`);
  }

  unary(target: Target, method: Method, input: unknown, options: CallOptions | undefined): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const pending = this.#pending(target, method, input, options);
      pending.resolve = resolve;
      pending.reject = reject;
      this.#begin(pending, options);
    });
  }

  stream(target: Target, method: Method, input: unknown, options?: CallOptions): ReplyStream<unknown> {
    const stream = new ReplyStream<unknown>(this.#parts.config.callCreditBytes, detachedSource);
    const pending = this.#pending(target, method, input, options);
    pending.stream = stream;
    pending.attachStream();
    this.#begin(pending, options);
    return stream;
  }

  get waitingForOwner(): number {
    return this.#paused.size;
  }

  /** An activation with this epoch exists, on this or another node (protocol 4.4). */
  noteEpoch(kind: ActorKind, text: string, newest: Epoch): void {
    if (this.#streams.size > 0) this.#streams.newerEpoch(`${kind}\0${text}`, newest);
  }

  /** A new ring is in use: resends the calls that waited for an owner. */
  wake(): void {
    // Iterates over a copy: a call that fails at once is added again, and must not run twice in this loop.
    for (const pending of Array.from(this.#paused)) {
      pending.pause?.cancel();
      this.#resume(pending);
    }
  }

  /** The node stops: ends waiting calls with a retryable error. */
  stop(error: ClusterError): void {
    for (const pending of Array.from(this.#paused)) pending.stop(error);
  }

  // // ── sending a call

  #pending(target: Target, method: Method, input: unknown, options: CallOptions | undefined): PendingCall {
    const { config, time } = this.#parts;
    const now = time.monotonicMs();
    const within = options?.within;
    const wishedMs = Math.min(options?.deadlineMs ?? config.callDeadlineMs, config.callDeadlineMaxMs);
    const ownDeadline = now + wishedMs;
    return new PendingCall(
      this,
      target,
      method,
      input,
      options?.requestId === undefined ? this.#idPrefix : requestId(options.requestId),
      options?.requestId === undefined ? (this.#lastId += 1) : 0,
      within === undefined ? ownDeadline : Math.min(ownDeadline, within.deadlineAtMs),
      options,
    );
  }

  #begin(pending: PendingCall, options: CallOptions | undefined): void {
    this.#parts.deadlines.add(pending);
    if (options?.signal !== undefined) follow(pending, options.signal);
    if (options?.within !== undefined) follow(pending, options.within.signal);
    if (!pending.done) this.#attempt(pending, pending.input);
  }

  #attempt(pending: PendingCall, input: unknown): void {
    const { rings, membership, config } = this.#parts;
    const { target } = pending;
    pending.attempts += 1;
    if (rings.owns(target.slot)) {
      pending.tried = this.#parts.membership.self.process;
      // A call of a running turn belongs to work that was already admitted.
      const isNested = pending.chain.length > 0;
      if (isNested ? membership.mayAct() : membership.mayAdmit()) this.#attemptLocal(pending, input);
      else pending.fail(new ClusterError('not_serving', 'this node may not start new work', notBegun));
      return;
    }
    const owner = rings.ring.ownerOf(target.slot);
    pending.tried = owner?.process;
    if (owner === undefined) {
      pending.fail(new ClusterError('no_owner', 'the view has no worker', notBegun));
      return;
    }
    try {
      const body = encodeMessage(pending.method.input, input, config.messageBytesMax);
      this.counts.remoteCalls += 1;
      pending.remote = this.#parts.links.call(owner, this.#outgoing(pending, body));
      // It may have failed during the call; then the attempt is cancelled.
      if (pending.done) pending.cancelAttempt();
    } catch (error) {
      pending.stop(toClusterError(error, 'bad_message'));
    }
  }

  #attemptLocal(pending: PendingCall, input: unknown): void {
    const { target } = pending;
    this.counts.localCalls += 1;
    // Local calls are not encoded.
    const call = new Call(target, pending, input, { bytes: 0, credit: pending.stream?.room ?? 0 }, pending);
    pending.local = call;
    try {
      this.#parts.table.deliver(target.kind.name, target.text, target.slot, call, 0);
    } catch (error) {
      call.fail(toClusterError(error));
    }
  }

  #outgoing(pending: PendingCall, body: Uint8Array) {
    const { address } = pending.target;
    return {
      mode: 'routed' as const,
      kind: address.kind,
      method: pending.method,
      group: address.group,
      key: address.key,
      body,
      deadlineMs: pending.deadlineAtMs - this.#parts.time.monotonicMs(),
      requestId: pending.requestId,
      repeatable: pending.repeatable || pending.method.idempotent,
      traceparent: pending.traceparent,
      tracestate: pending.tracestate,
      callerGroup: pending.group === address.group ? '' : pending.group,
      chain: pending.chain,
      credit: pending.stream?.room ?? 0,
      answer: pending.remoteAnswer(),
    };
  }

  // // ── callbacks of a pending call

  streamOpened(pending: PendingCall): void {
    this.#streams.opened(actorOf(pending), pending);
  }

  epochSeen({ target }: PendingCall, newest: Epoch): void {
    this.noteEpoch(target.kind.name, target.text, newest);
  }

  ended(pending: PendingCall): void {
    this.#parts.deadlines.remove(pending);
    if (this.#paused.size > 0) this.#unpause(pending);
    if (this.#streams.size > 0) this.#streams.closed(actorOf(pending), pending);
    if (pending.signals === undefined) return;
    for (const { signal, onAbort } of pending.signals) signal.removeEventListener('abort', onAbort);
  }

  attemptFailed(pending: PendingCall, error: ClusterError): void {
    const decision = retryAfter(error, pending.method);
    if (this.#streams.size > 0) this.#streams.closed(actorOf(pending), pending);
    pending.lastError = error;
    if (decision === 'hop') {
      this.counts.movedAnswers += 1;
      pending.hops += 1;
    }
    const isOver = decision === 'pause_for_store' && !this.#mayWaitForStore(pending);
    if (decision === 'end' || isOver || pending.hops > this.#parts.config.hopsMax) {
      pending.stop(error);
      return;
    }
    if (pending.nextInput() === undefined) {
      // Messages were already received, and the method does not define `resume`.
      pending.stop(error);
      return;
    }
    if (!this.#room.take(pending.group)) {
      const details = {
        cause: error,
        notBegun: error.notBegun,
        retryAfterMs: this.#parts.config.overloadRetryMs,
      };
      pending.stop(
        new ClusterError(
          'overloaded',
          'too many calls wait for the owners of their actors (nodeQueueMax)',
          details,
        ),
      );
      return;
    }
    this.counts.retries += 1;
    const pauseMs = decision === 'hop' ? this.#parts.config.movedRetryMs : this.#pauseMs(pending, error);
    this.#paused.add(pending);
    pending.pause = this.#parts.time.after(pauseMs, () => this.#resume(pending));
  }

  #unpause(pending: PendingCall): void {
    if (this.#paused.delete(pending)) this.#room.give(pending.group);
  }

  #pauseMs(pending: PendingCall, error: ClusterError): number {
    const { rings, random } = this.#parts;
    // A new ring arrived during this attempt, so no further wake-up will come for it: retry without a pause.
    const owner = rings.ring.ownerOf(pending.target.slot)?.process;
    if (owner !== undefined && owner !== pending.tried) return error.retryAfterMs ?? 0;
    return Math.max(error.retryAfterMs ?? 0, backoffMs(pending.attempts, retryPause, random));
  }

  /** Counted from the first such failure; other failures in between do not extend it. */
  #mayWaitForStore(pending: PendingCall): boolean {
    const { time, config } = this.#parts;
    const nowMs = time.monotonicMs();
    pending.storeAwaySinceMs ??= nowMs;
    return nowMs - pending.storeAwaySinceMs < config.storeRetryMs;
  }

  #resume(pending: PendingCall): void {
    this.#unpause(pending);
    pending.pause = undefined;
    if (pending.done) return;
    const next = pending.nextInput();
    if (next === undefined) return;
    pending.attachStream();
    this.#attempt(pending, next.input);
  }
}

/** Ends the call when the signal is aborted, including before it starts. */
function follow(pending: PendingCall, signal: AbortSignal): void {
  if (signal.aborted) {
    pending.stop(new ClusterError('cancelled', 'the signal of the caller was aborted before the call'));
    return;
  }
  const onAbort = (): void => pending.stop(new ClusterError('cancelled', 'the caller cancelled the call'));
  signal.addEventListener('abort', onAbort, { once: true });
  (pending.signals ??= []).push({ signal, onAbort });
}

function actorOf({ target }: PendingCall): string {
  return `${target.kind.name}\0${target.text}`;
}

const notBegun = { notBegun: true } as const;
const detachedSource = { grant() {}, cancel() {} };
