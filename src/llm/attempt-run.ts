import { hash } from 'node:crypto';
import type { AttemptOutcome, AttemptReport, AttemptStart } from './attempt-report.js';
import type { Call, CallDeadline, CallLimits, CallPorts } from './call-ports.js';
import { isSignal, type LlmEvent, type ReplyItem } from './contract.js';
import { usageOfUnfinished } from './estimate.js';
import { openAttempt } from './open-attempt.js';
import type { Target } from './routing/plan.js';
import type { Attempt } from './transport/attempt-feed.js';
import { zeroUsage, type Usage } from './usage.js';
import { VendorError, type FailureClass } from './vendor-error.js';

const excerptChars = 400;
/** Enough that no two attempts share them, and few enough for vendors that take ids of 40 characters. */
const attemptCharsOfId = 24;

/** One attempt: opens it, emits its events, and reports its result whatever happens. */
export class AttemptRun {
  readonly #call: Call;
  readonly #ports: CallPorts;
  readonly #start: AttemptStart;
  readonly #limits: CallLimits;
  readonly #deadline: CallDeadline;
  #attempt: Attempt | undefined;
  #held: LlmEvent[] = [];
  #usage: Usage | undefined;
  #stop: Extract<LlmEvent, { type: 'stop' }> | undefined;
  #error: VendorError | undefined;
  #answered: AttemptReport['answered'];
  #signalled = false;
  /** A text or a tool call has come. */
  #answers = false;
  #bytes = 0;
  #excerpt = '';
  #pieces = 0;

  constructor(
    call: Call,
    ports: CallPorts,
    target: Target,
    number: number,
    limits: CallLimits,
    deadline: CallDeadline,
  ) {
    this.#call = call;
    this.#ports = ports;
    this.#limits = limits;
    this.#deadline = deadline;
    this.#start = {
      attemptId: ports.newId(),
      number,
      target,
      payer: target.credential.payer,
      request: call.request,
    };
  }

  /** Content, a thought or a tool call was emitted. */
  get signalled(): boolean {
    return this.#signalled;
  }

  async open(): Promise<void> {
    const { signal, request, mayBegin } = this.#call;
    const { beforeAttempt, breakers, loads } = this.#ports;
    // Before the wait for the ledger: calls that arrive together are to take different keys.
    loads?.begin(this.#start.target.credential);
    if (beforeAttempt !== undefined) {
      try {
        await beforeAttempt(this.#start);
      } catch (refusal) {
        const { model, credential } = this.#start.target;
        breakers.abstained(model.vendor, credential.id);
        loads?.end(credential);
        throw refusal;
      }
    }
    if (signal.aborted || mayBegin?.() === false) return;
    const attempt = openAttempt(this.#start, this.#ports, {
      firstSignalMs: request.stream ? this.#limits.firstSignalMs : undefined,
      idleMs: this.#limits.idleMs,
      callDeadlineMs: this.#deadline.atMs,
      deadlineClock: this.#deadline.clock,
    });
    this.#attempt = attempt;
    signal.addEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.#attempt?.abort();

  /** Returns the new events, if there are any. Closing events are kept for `closing`. */
  take(): readonly LlmEvent[] | undefined {
    const attempt = this.#attempt;
    if (attempt === undefined) return undefined;
    for (const item of attempt.take()) this.#take(item);
    if (!this.#signalled || this.#held.length === 0) return undefined;
    const batch = this.#held;
    this.#held = [];
    return batch;
  }

  /** Whether the attempt has ended; valid after `take` returned nothing. */
  get ended(): boolean {
    return this.#attempt?.ended ?? true;
  }

  /** Resolves when there are new events or the attempt has ended. */
  wait(): Promise<void> {
    return this.#attempt?.wait() ?? Promise.resolve();
  }

  /** Ends the attempt if it still runs, and returns its result. */
  settle(): AttemptReport {
    this.#call.signal.removeEventListener('abort', this.#onAbort);
    const attempt = this.#attempt;
    this.#ports.loads?.end(this.#start.target.credential);
    if (attempt !== undefined && !attempt.ended) {
      attempt.abort();
      for (const item of attempt.take()) this.#take(item);
    }
    const report = this.#report(attempt);
    this.#learn(report);
    return report;
  }

  /** The events that may leave once the attempt is recorded. An answer without a piece also has its start events here. */
  closing(report: AttemptReport): readonly LlmEvent[] {
    const events: LlmEvent[] = [...this.#held, { type: 'usage', usage: report.usage }];
    if (this.#stop !== undefined) events.push(this.#stop);
    return events;
  }

  #take(item: ReplyItem): void {
    switch (item.type) {
      case 'failure':
        // An error after the finish reason does not invalidate the answer.
        if (this.#stop === undefined) this.#error = item.error;
        return;
      case 'usage':
        this.#usage = item.usage;
        return;
      case 'stop':
        this.#stop = item;
        if (item.reason === 'error' && !this.#answers) this.#error = this.#noAnswer(item.raw);
        return;
      case 'content':
        if (item.text !== '') this.#answers = true;
        if (this.#excerpt.length < excerptChars) this.#excerpt += item.text.slice(0, excerptChars);
        this.#weigh(item.text);
        break;
      case 'tool_call_start':
        this.#answers = true;
        break;
      case 'start':
        this.#answered = { id: item.id, model: item.model };
        break;
      case 'thinking':
      case 'tool_call_arguments':
        this.#weigh(item.text);
        break;
      default:
    }
    if (!this.#signalled && isSignal(item)) this.#signalled = true;
    this.#held.push(item.type === 'tool_call_start' && item.id === '' ? this.#named(item) : item);
  }

  /** Imitators give their calls no ids. No other attempt has these, so they differ between the rounds of a conversation. */
  #named(start: Extract<LlmEvent, { type: 'tool_call_start' }>): LlmEvent {
    const attempt = hash('sha256', this.#start.attemptId, 'hex').slice(0, attemptCharsOfId);
    return { ...start, id: `call_${attempt}_${start.index}` };
  }

  /** The model's own end by an error, as of a call that it could not write: another try may succeed. */
  #noAnswer(reason: string): VendorError {
    const { vendor } = this.#start.target.model;
    return new VendorError('nonsense', `the model ended without an answer: ${reason}`, {
      vendor,
      code: reason,
    });
  }

  #weigh(text: string): void {
    this.#bytes += Buffer.byteLength(text);
    this.#pieces += 1;
  }

  #report(attempt: Attempt | undefined): AttemptReport {
    const { attemptId, number, target, payer, request } = this.#start;
    const now = this.#ports.time.monotonicMs();
    const startedAtMs = attempt?.facts.startedAtMs ?? now;
    const firstSignalAtMs = attempt?.facts.firstSignalAtMs;
    const error = attempt === undefined ? this.#leftBeforehand() : this.#error;
    return {
      attemptId,
      number,
      target,
      payer,
      request,
      outcome: outcomeOf(error),
      usage: this.#usageOf(attempt, error),
      stop: this.#stop?.reason,
      excerpt: this.#excerpt,
      error: error === undefined ? undefined : this.#withoutSecret(error),
      vendorRequestId: attempt?.facts.vendorRequestId,
      answered: this.#answered,
      startedAtMs,
      firstSignalMs: firstSignalAtMs === undefined ? undefined : firstSignalAtMs - startedAtMs,
      durationMs: (attempt?.facts.endedAtMs ?? now) - startedAtMs,
    };
  }

  #leftBeforehand(): VendorError {
    return new VendorError('cancelled', 'the caller left', { vendor: this.#start.target.model.vendor });
  }

  #withoutSecret(error: VendorError): VendorError {
    const secret = this.#start.target.credential.reveal();
    return secret === undefined ? error : error.without(secret);
  }

  #usageOf(attempt: Attempt | undefined, error: VendorError | undefined): Usage {
    if (attempt === undefined) return zeroUsage;
    const ended = error === undefined || this.#stop !== undefined;
    if ((ended || attempt.facts.whole) && this.#usage !== undefined) return this.#usage;
    const { target, request } = this.#start;
    return usageOfUnfinished({
      request,
      maxOutputTokens: target.model.maxOutputTokens,
      reported: this.#usage,
      sent: attempt.facts.sent,
      accepted: attempt.facts.accepted,
      complete: ended,
      endedByUs: error !== undefined && endsByUs.has(error.failure),
      tooLarge: error?.failure === 'too_large',
      billsCutStreams: this.#ports.adapterOf(target.model.vendor)?.billsCutStreams === true,
      seen: { bytes: this.#bytes, pieces: this.#pieces },
    });
  }

  #leaveOut({ target: { model, credential }, error }: AttemptReport): void {
    const { breakers, time, onKeyRefused } = this.#ports;
    const isNew = breakers.refused(model.vendor, credential.id, time.monotonicMs());
    if (isNew && error !== undefined) onKeyRefused?.(credential, error);
  }

  #learn(report: AttemptReport): void {
    const { breakers, observations, time } = this.#ports;
    const { model, credential } = report.target;
    const verdict = verdictOf(report);
    if (isRefusedKey(report)) this.#leaveOut(report);
    else if (verdict === 'good') breakers.succeeded(model.vendor, credential.id);
    else if (verdict === 'bad') breakers.failed(model.vendor, credential.id, time.monotonicMs());
    else breakers.abstained(model.vendor, credential.id);
    if (isOfOwnKey(report) || (verdict === 'none' && !isRefusedModel(report))) return;
    observations?.record(model.id, time.monotonicMs(), {
      failed: verdict !== 'good',
      ...(report.firstSignalMs !== undefined && { firstSignalMs: report.firstSignalMs }),
    });
  }
}

/** A tenant's key that is refused keeps its own count: the tenant is to see the refusal, not to pay less for it. */
function isRefusedKey({ error, payer }: AttemptReport): boolean {
  return payer === 'platform' && (error?.failure === 'credential' || error?.failure === 'exhausted');
}

/** The platform's key may not use the model: automatic choices avoid the model, and the key stays. */
function isRefusedModel({ error, payer }: AttemptReport): boolean {
  return payer === 'platform' && error?.failure === 'model_refused';
}

const refusalsOfKeys: ReadonlySet<FailureClass> = new Set(['credential', 'exhausted', 'rate']);

/** A tenant's own key is refused or throttled: that tells nothing of the model, which `auto` chooses for every tenant. */
function isOfOwnKey({ error, payer }: AttemptReport): boolean {
  return payer === 'tenant' && error !== undefined && refusalsOfKeys.has(error.failure);
}

const endsByUs: ReadonlySet<FailureClass> = new Set(['cancelled', 'timeout', 'too_large']);

function outcomeOf(error: VendorError | undefined): AttemptOutcome {
  if (error === undefined) return 'completed';
  if (error.failure === 'cancelled') return 'cancelled';
  return error.failure === 'timeout' ? 'timeout' : 'failed';
}

/** The time of the work was up, or that of the call while the vendor wrote: its silence has clocks of its own. */
function isCutByUs({ error, firstSignalMs }: AttemptReport): boolean {
  return error?.clock === 'turn' || (error?.clock === 'call' && firstSignalMs !== undefined);
}

/** The outcome for the vendor's breaker. A bad request, a refused model or a caller that left has none. */
function verdictOf(report: AttemptReport): 'good' | 'bad' | 'none' {
  // The vendor worked; what the model wrote may depend on the prompt of one caller.
  if (report.stop === 'error') return 'none';
  switch (report.error?.failure) {
    case undefined:
      return 'good';
    case 'cancelled':
    case 'request':
    case 'model_refused':
    case 'context_overflow':
    case 'policy':
    case 'unavailable':
    case 'too_large':
      return 'none';
    case 'timeout':
      return isCutByUs(report) ? 'none' : 'bad';
    default:
      return 'bad';
  }
}
