/**
 * One call to a model: attempts, one after the other, until one answers or the policy says stop.
 *
 * What leaves this generator is one answer of one model. Start-up events are held back until the first content,
 * thought or tool call, so that a switch before it cannot be seen; after it there is no other attempt. The closing
 * events (usage, stop) leave only after `afterAttempt` returned, so that nobody reads a complete answer that is not
 * booked yet.
 */
import { isSignal, type LlmEvent, type LlmRequest, type ReplyItem } from './contract.js';
import type { AttemptOutcome, AttemptReport, AttemptStart } from './attempt-report.js';
import { usageOfUnfinished } from './estimate.js';
import { openAttempt, type AttemptPorts } from './open-attempt.js';
import type { CircuitBreakers } from './routing/circuit-breakers.js';
import type { Observations } from './routing/observations.js';
import type { CallPlan, Target } from './routing/plan.js';
import { decideNext } from './routing/retry-policy.js';
import type { Attempt } from './transport/attempt-feed.js';
import { zeroUsage, type Usage } from './usage.js';
import { VendorError } from './vendor-error.js';

export interface CallLimits {
  readonly firstSignalMs: number;
  readonly idleMs: number;
  /** For all attempts together. */
  readonly callMs: number;
}

export const defaultCallLimits: CallLimits = { firstSignalMs: 30_000, idleMs: 30_000, callMs: 120_000 };

export interface CallPorts extends AttemptPorts {
  readonly chance: () => number;
  readonly newId: () => string;
  readonly breakers: CircuitBreakers;
  readonly observations?: Observations;
  /** Awaited before anything is sent. What it throws ends the call: a refusal of ours is not the vendor's failure. */
  readonly beforeAttempt?: (start: AttemptStart) => Promise<void>;
  /** Awaited before the answer ends, once for each start that returned. */
  readonly afterAttempt?: (report: AttemptReport) => Promise<void>;
}

export interface CallOutcome {
  readonly kind: 'completed' | 'failed' | 'cancelled';
  /** Every attempt that was begun; the last one is the one that counted. */
  readonly attempts: readonly AttemptReport[];
  readonly error: VendorError | undefined;
  /** Something of the answer was handed out, so an error can only be its last event. */
  readonly answering: boolean;
}

export interface Call {
  readonly plan: CallPlan;
  readonly request: LlmRequest;
  readonly limits?: CallLimits;
  /** The caller leaves: the vendor's connection is closed at once, and what was used is booked. */
  readonly signal: AbortSignal;
}

/**
 * Yields the events of one socket read at a time, so that they can leave in one write. Ends by `signal`, not by
 * leaving the loop alone: a generator that waits for the vendor cannot be woken by `return`.
 */
export async function* runCall(
  call: Call,
  ports: CallPorts,
): AsyncGenerator<readonly LlmEvent[], CallOutcome, undefined> {
  const limits = call.limits ?? defaultCallLimits;
  const deadlineMs = ports.time.monotonicMs() + limits.callMs;
  const attempts: AttemptReport[] = [];
  let index = firstTarget(call.plan, ports);
  let retriesHere = 0;
  let clockRetries = 0;
  for (;;) {
    const target = call.plan.targets[index];
    if (target === undefined) return unserved(attempts);
    const run = new AttemptRun(call, ports, target, attempts.length + 1, limits, deadlineMs);
    const report = yield* run.events();
    attempts.push(report);
    if (report.outcome === 'completed') {
      yield run.closing;
      return { kind: 'completed', attempts, error: undefined, answering: true };
    }
    const error = report.error ?? new VendorError('transport', 'no answer', { vendor: target.model.vendor });
    const ended = { attempts, error, answering: run.signalled };
    if (report.outcome === 'cancelled') return { kind: 'cancelled', ...ended };
    const decision = decideNext({
      error,
      targets: call.plan.targets,
      index,
      retriesHere,
      clockRetries,
      attempts: attempts.length,
      signalled: run.signalled,
      mayEnlarge: call.plan.mayEnlarge,
      remainingMs: deadlineMs - ports.time.monotonicMs(),
      isOpen: (other) => isOpen(other, ports),
      chance: ports.chance(),
    });
    if (decision.kind === 'stop') return { kind: 'failed', ...ended };
    if (decision.kind === 'switch') {
      index = decision.index;
      retriesHere = 0;
      clockRetries = 0;
      continue;
    }
    if (error.failure === 'timeout') clockRetries += 1;
    else retriesHere += 1;
    if (!(await waited(decision.afterMs, call.signal, ports))) return { kind: 'cancelled', ...ended };
  }
}

/**
 * The first target that is not left out. When all of them are, the first is asked all the same: a guess that it still
 * fails would be a refusal without a reason.
 */
function firstTarget(plan: CallPlan, ports: CallPorts): number {
  const open = plan.targets.findIndex((target) =>
    ports.breakers.admits(target.model.vendor, target.credential.id, ports.time.monotonicMs()),
  );
  return Math.max(0, open);
}

function isOpen(target: Target, ports: CallPorts): boolean {
  return ports.breakers.isOpen(target.model.vendor, target.credential.id, ports.time.monotonicMs());
}

function unserved(attempts: readonly AttemptReport[]): CallOutcome {
  const error = new VendorError('unavailable', 'nobody to ask', { vendor: 'none' });
  return { kind: 'failed', attempts, error, answering: false };
}

/** False where the caller left in the meantime. */
function waited(delayMs: number, signal: AbortSignal, ports: CallPorts): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  if (delayMs <= 0) return Promise.resolve(true);
  return new Promise((resolve) => {
    const onAbort = (): void => {
      timer.cancel();
      resolve(false);
    };
    const timer = ports.time.after(delayMs, () => {
      signal.removeEventListener('abort', onAbort);
      resolve(true);
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** One attempt: opens it, hands out its events, and closes its books whatever happens. */
class AttemptRun {
  readonly closing: LlmEvent[] = [];
  readonly #call: Call;
  readonly #ports: CallPorts;
  readonly #start: AttemptStart;
  readonly #limits: CallLimits;
  readonly #deadlineMs: number;
  #usage: Usage | undefined;
  #stop: Extract<LlmEvent, { type: 'stop' }> | undefined;
  #error: VendorError | undefined;
  #signalled = false;
  #bytes = 0;
  #pieces = 0;

  constructor(
    call: Call,
    ports: CallPorts,
    target: Target,
    number: number,
    limits: CallLimits,
    deadlineMs: number,
  ) {
    this.#call = call;
    this.#ports = ports;
    this.#limits = limits;
    this.#deadlineMs = deadlineMs;
    this.#start = {
      attemptId: ports.newId(),
      number,
      target,
      payer: target.credential.payer,
      request: call.request,
    };
  }

  get signalled(): boolean {
    return this.#signalled;
  }

  async *events(): AsyncGenerator<readonly LlmEvent[], AttemptReport, undefined> {
    const { signal } = this.#call;
    await this.#ports.beforeAttempt?.(this.#start);
    if (signal.aborted) return this.#settle(undefined);
    const attempt = openAttempt(this.#start, this.#ports, {
      firstSignalMs: this.#call.request.stream ? this.#limits.firstSignalMs : undefined,
      idleMs: this.#limits.idleMs,
      callDeadlineMs: this.#deadlineMs,
    });
    const onAbort = (): void => attempt.abort();
    signal.addEventListener('abort', onAbort, { once: true });
    let settled = false;
    try {
      yield* this.#handOut(attempt);
      settled = true;
      const report = await this.#settle(attempt);
      this.closing.push({ type: 'usage', usage: report.usage });
      if (this.#stop !== undefined) this.closing.push(this.#stop);
      return report;
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (!settled) {
        // The reader left the loop without a word.
        attempt.abort();
        await this.#settle(attempt);
      }
    }
  }

  async *#handOut(attempt: Attempt): AsyncGenerator<readonly LlmEvent[], void, undefined> {
    let held: LlmEvent[] = [];
    for (;;) {
      const items = await attempt.next();
      if (items === undefined) break;
      for (const item of items) this.#take(item, held);
      if (this.#signalled && held.length > 0) {
        const batch = held;
        held = [];
        yield batch;
      }
    }
    // An answer may be complete without a single piece.
    if (!this.#signalled) this.closing.push(...held);
  }

  #take(item: ReplyItem, batch: LlmEvent[]): void {
    switch (item.type) {
      case 'failure':
        // What fails after the vendor named a reason to stop takes nothing from the answer.
        if (this.#stop === undefined) this.#error = item.error;
        return;
      case 'usage':
        this.#usage = item.usage;
        return;
      case 'stop':
        this.#stop = item;
        return;
      case 'content':
      case 'thinking':
      case 'tool_call_arguments':
        this.#bytes += Buffer.byteLength(item.text);
        this.#pieces += 1;
        break;
      default:
    }
    if (!this.#signalled && isSignal(item)) this.#signalled = true;
    batch.push(item);
  }

  async #settle(attempt: Attempt | undefined): Promise<AttemptReport> {
    const report = this.#report(attempt);
    this.#learn(report);
    await this.#ports.afterAttempt?.(report);
    return report;
  }

  #report(attempt: Attempt | undefined): AttemptReport {
    const { vendor } = this.#start.target.model;
    const now = this.#ports.time.monotonicMs();
    const startedAtMs = attempt?.facts.startedAtMs ?? now;
    const firstSignalAtMs = attempt?.facts.firstSignalAtMs;
    const error =
      attempt === undefined ? new VendorError('cancelled', 'the caller left', { vendor }) : this.#error;
    const secret = this.#start.target.credential.reveal();
    return {
      ...this.#start,
      outcome: outcomeOf(error),
      usage: this.#usageOf(attempt, error),
      stop: this.#stop?.reason,
      error: secret === undefined ? error : error?.without(secret),
      vendorRequestId: attempt?.facts.vendorRequestId,
      startedAtMs,
      firstSignalMs: firstSignalAtMs === undefined ? undefined : firstSignalAtMs - startedAtMs,
      durationMs: (attempt?.facts.endedAtMs ?? now) - startedAtMs,
    };
  }

  #usageOf(attempt: Attempt | undefined, error: VendorError | undefined): Usage {
    if (attempt === undefined) return zeroUsage;
    if (error === undefined && this.#usage !== undefined) return this.#usage;
    const { target, request } = this.#start;
    return usageOfUnfinished({
      request,
      maxOutputTokens: target.model.maxOutputTokens,
      reported: this.#usage,
      accepted: attempt.facts.accepted,
      // A complete answer whose usage the vendor kept to itself was billed too.
      endedByUs: error === undefined || error.failure === 'cancelled' || error.failure === 'timeout',
      billsCutStreams:
        error !== undefined && this.#ports.adapterOf(target.model.vendor)?.billsCutStreams === true,
      seen: { bytes: this.#bytes, pieces: this.#pieces },
    });
  }

  #learn(report: AttemptReport): void {
    const { breakers, observations, time } = this.#ports;
    const { model, credential } = report.target;
    const now = time.monotonicMs();
    const verdict = verdictOf(report);
    if (verdict === 'good') breakers.succeeded(model.vendor, credential.id);
    else if (verdict === 'bad') breakers.failed(model.vendor, credential.id, now);
    else breakers.abstained(model.vendor, credential.id);
    if (verdict === 'none') return;
    observations?.record(model.id, now, {
      failed: verdict === 'bad',
      ...(report.firstSignalMs !== undefined && { firstSignalMs: report.firstSignalMs }),
    });
  }
}

function outcomeOf(error: VendorError | undefined): AttemptOutcome {
  if (error === undefined) return 'completed';
  if (error.failure === 'cancelled') return 'cancelled';
  return error.failure === 'timeout' ? 'timeout' : 'failed';
}

/** What an attempt says about the vendor and its key; a bad request or a caller who left says nothing. */
function verdictOf(report: AttemptReport): 'good' | 'bad' | 'none' {
  switch (report.error?.failure) {
    case undefined:
      return 'good';
    case 'cancelled':
    case 'request':
    case 'context_overflow':
    case 'policy':
    case 'unavailable':
      return 'none';
    default:
      return 'bad';
  }
}
