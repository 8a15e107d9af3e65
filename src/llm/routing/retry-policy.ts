/**
 * What to do after an attempt failed. Pure: the class of the failure, what has been tried and the time that is left go
 * in, one decision comes out. After the first piece of the answer there is only one: stop. A clock never leads to
 * another model, and neither does an account that is used up.
 */
import type { VendorError } from '../vendor-error.js';
import type { Target } from './plan.js';

export interface Failure {
  readonly error: VendorError;
  readonly targets: readonly Target[];
  readonly index: number;
  /** How often this same target was tried again already. */
  readonly retriesHere: number;
  /** How often it was tried again because nothing came in time. */
  readonly clockRetries: number;
  readonly attempts: number;
  /** Content, a thought or a tool call has come. */
  readonly signalled: boolean;
  readonly mayEnlarge: boolean;
  readonly remainingMs: number;
  /** Whether the circuit breaker lets a call to that target through. */
  readonly isOpen: (target: Target) => boolean;
  /** Uniform in [0, 1). */
  readonly chance: number;
}

export type Decision =
  | { readonly kind: 'stop' }
  | { readonly kind: 'retry'; readonly afterMs: number }
  | { readonly kind: 'switch'; readonly index: number };

export const retryLimits = {
  attemptsMax: 8,
  /** Nobody waits longer than this inside one call; the caller is told the time instead. */
  retryAfterMsMax: 20_000,
  rateRetriesMax: 2,
  rateBackoffMs: 1000,
  backoffMs: 100,
  /** A vendor that asks for more than this is passed over while there is another target. */
  patienceMs: 1000,
} as const;

const stop: Decision = { kind: 'stop' };

export function decideNext(failure: Failure): Decision {
  const { error } = failure;
  if (failure.signalled || failure.attempts >= retryLimits.attemptsMax || failure.remainingMs <= 0) {
    return stop;
  }
  switch (error.failure) {
    case 'cancelled':
    case 'request':
    case 'policy':
      return stop;
    case 'timeout':
      return error.clock === 'first_signal' && failure.clockRetries === 0 ? retry(failure, 0) : stop;
    case 'credential':
    case 'exhausted':
      // A refused key is made up for by the next one even where that is left out: there is nobody else to ask.
      return (
        switchTo(failure, otherKeyOfSameModel) ?? switchTo(failure, otherKeyOfSameModel, () => true) ?? stop
      );
    case 'context_overflow':
      return failure.mayEnlarge ? (switchTo(failure, largerWindow) ?? stop) : stop;
    case 'unavailable':
      return switchTo(failure, anyOther) ?? stop;
    case 'rate':
      return switchTo(failure, anyOther) ?? waitOut(failure);
    case 'overload':
    case 'transport':
    case 'nonsense':
      return again(failure) ?? switchTo(failure, anyOther) ?? stop;
  }
}

/** The vendor's own trouble: the same target once, then the next. */
function again(failure: Failure): Decision | undefined {
  const { error } = failure;
  if (failure.retriesHere > 0 || error.neverRetry) return undefined;
  const asked = error.retryAfterMs;
  if (asked !== undefined && asked > retryLimits.patienceMs) {
    return switchTo(failure, anyOther) ?? waitOut(failure);
  }
  const decision = retry(failure, Math.max(asked ?? 0, jittered(retryLimits.backoffMs, failure.chance)));
  return decision.kind === 'stop' ? undefined : decision;
}

/** No other target: wait as long as the vendor says, or a little longer each time where it says nothing. */
function waitOut(failure: Failure): Decision {
  const { error, retriesHere } = failure;
  if (error.neverRetry || retriesHere >= retryLimits.rateRetriesMax) return stop;
  const afterMs =
    error.retryAfterMs ?? jittered(retryLimits.rateBackoffMs * 2 ** retriesHere, failure.chance);
  return afterMs > retryLimits.retryAfterMsMax ? stop : retry(failure, afterMs);
}

/** A wait that ends after the deadline is no retry. */
function retry(failure: Failure, afterMs: number): Decision {
  return afterMs >= failure.remainingMs ? stop : { kind: 'retry', afterMs };
}

/** Doubling is done by the caller; the upper half is chance, so that peers do not come back together. */
function jittered(ms: number, chance: number): number {
  return ms / 2 + (chance * ms) / 2;
}

type Fits = (candidate: Target, failed: Target) => boolean;

const anyOther: Fits = () => true;
const otherKeyOfSameModel: Fits = (candidate, failed) =>
  candidate.model.id === failed.model.id && candidate.credential.id !== failed.credential.id;
const largerWindow: Fits = (candidate, failed) => candidate.model.contextWindow > failed.model.contextWindow;

/** Only onwards: a target that was left behind is not tried again. */
function switchTo(
  failure: Failure,
  fits: Fits,
  mayAsk: (candidate: Target) => boolean = (candidate) => !failure.isOpen(candidate),
): Decision | undefined {
  const failed = failure.targets[failure.index];
  if (failed === undefined) return undefined;
  const index = failure.targets.findIndex(
    (candidate, at) => at > failure.index && fits(candidate, failed) && mayAsk(candidate),
  );
  return index === -1 ? undefined : { kind: 'switch', index };
}
