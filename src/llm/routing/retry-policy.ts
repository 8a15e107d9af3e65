/**
 * Decides what follows a failed attempt. Pure: it takes the class of the failure, the earlier tries and the remaining
 * time. After the first piece of the answer the only decision is to stop. A timeout or an exhausted account never leads
 * to another model.
 */
import type { VendorError } from '../vendor-error.js';
import type { Target } from './plan.js';

export interface Failure {
  readonly error: VendorError;
  readonly targets: readonly Target[];
  readonly index: number;
  /** The number of retries of this target. */
  readonly retriesHere: number;
  /** The number of its retries after a timeout. */
  readonly clockRetries: number;
  readonly attempts: number;
  /** Content, a thought or a tool call has arrived. */
  readonly signalled: boolean;
  readonly mayEnlarge: boolean;
  readonly remainingMs: number;
  /** Whether the circuit breaker admits a call to the target. */
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
  /** The longest wait within one call; beyond it the caller receives the time instead. */
  retryAfterMsMax: 20_000,
  rateRetriesMax: 2,
  rateBackoffMs: 1000,
  backoffMs: 100,
  /** A vendor that asks for a longer wait is left for another target, or waited for if there is none. */
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
    // The vendor would write, and bill, the same once more.
    case 'too_large':
      return stop;
    case 'timeout':
      return error.clock === 'first_signal' && failure.clockRetries === 0 ? retry(failure, 0) : stop;
    case 'credential':
    case 'exhausted':
      // A refused key is replaced by the next one even if its breaker is open: there is no other target.
      return (
        switchTo(failure, otherKeyOfSameModel) ?? switchTo(failure, otherKeyOfSameModel, () => true) ?? stop
      );
    case 'context_overflow':
      return failure.mayEnlarge ? (switchTo(failure, largerWindow) ?? stop) : stop;
    // Another key of the same model comes first in the plan.
    case 'model_refused':
    case 'unavailable':
      return switchTo(failure, anyOther) ?? stop;
    case 'rate':
      return switchTo(failure, anyOther) ?? waitOut(failure);
    case 'overload':
    case 'transport':
    case 'nonsense':
      return (
        switchTo(failure, otherModelOfSamePayer) ??
        again(failure) ??
        switchTo(failure, otherModel) ??
        switchTo(failure, anyOther) ??
        stop
      );
  }
}

/** A failure of the vendor, and no other model for it: tries the same target once more. */
function again(failure: Failure): Decision | undefined {
  const { error } = failure;
  if (failure.retriesHere > 0 || error.neverRetry) return undefined;
  const asked = error.retryAfterMs;
  if (asked !== undefined && asked > retryLimits.patienceMs) {
    return switchTo(failure, otherModel) ?? switchTo(failure, anyOther) ?? waitOut(failure);
  }
  const decision = retry(failure, Math.max(asked ?? 0, jittered(retryLimits.backoffMs, failure.chance)));
  return decision.kind === 'stop' ? undefined : decision;
}

/** No other target: waits as long as the vendor says, or a little longer each time if it says nothing. */
function waitOut(failure: Failure): Decision {
  const { error, retriesHere } = failure;
  if (error.neverRetry || retriesHere >= retryLimits.rateRetriesMax) return stop;
  const afterMs =
    error.retryAfterMs ?? jittered(retryLimits.rateBackoffMs * 2 ** retriesHere, failure.chance);
  return afterMs > retryLimits.retryAfterMsMax ? stop : retry(failure, afterMs);
}

/** A wait that ends after the deadline is not a retry. */
function retry(failure: Failure, afterMs: number): Decision {
  return afterMs >= failure.remainingMs ? stop : { kind: 'retry', afterMs };
}

/** The caller doubles the time; the upper half is random, so that processes do not retry together. */
function jittered(ms: number, chance: number): number {
  return ms / 2 + (chance * ms) / 2;
}

type Fits = (candidate: Target, failed: Target) => boolean;

const anyOther: Fits = () => true;
const otherModel: Fits = (candidate, failed) => candidate.model.id !== failed.model.id;
/** The tenant's own key is asked again before the platform's quota pays. */
const otherModelOfSamePayer: Fits = (candidate, failed) =>
  otherModel(candidate, failed) &&
  (failed.credential.payer !== 'tenant' || candidate.credential.payer === 'tenant');
const otherKeyOfSameModel: Fits = (candidate, failed) =>
  candidate.model.id === failed.model.id && candidate.credential.id !== failed.credential.id;
const largerWindow: Fits = (candidate, failed) => candidate.model.contextWindow > failed.model.contextWindow;

/** Only forwards: a target that was left is not tried again. */
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
