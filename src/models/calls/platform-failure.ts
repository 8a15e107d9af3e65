import { PlatformError } from '../../kernel/errors.js';
import { type CallOutcome, isFinal, refusesKey, type VendorError } from '../../llm/index.js';
import type { ChosenTargets } from './choose-targets.js';

/** The clients of OpenAI and Anthropic repeat a 502 twice, each time counted, unless they are told. */
const noRetry = { 'X-Should-Retry': 'false' };

/** Why a call has no answer. An own key that is refused leaves the platform's, which the plan's tiers may exclude. */
export function refusalOf({ error, attempts }: CallOutcome, { tierRefusalOf }: ChosenTargets): PlatformError {
  const last = attempts.at(-1);
  const ownKeyRefused = error !== undefined && refusesKey(error.failure) && last?.payer === 'tenant';
  const tierRefusal = ownKeyRefused ? tierRefusalOf(last.target.model) : undefined;
  if (tierRefusal !== undefined) return tierRefusal;
  return platformFailure(error);
}

/** Turns a vendor's failure into the caller's error: its reason, scrubbed and bounded, and when to retry. */
export function platformFailure(error: VendorError | undefined): PlatformError {
  if (error === undefined) {
    return new PlatformError('provider_error', {
      details: { provider: 'none', original_error: 'no answer' },
    });
  }
  const details = { provider: error.vendor, original_error: error.message };
  const retryAfterSeconds = Math.max(1, Math.ceil((error.retryAfterMs ?? 1000) / 1000));
  switch (error.failure) {
    case 'timeout':
      return new PlatformError('provider_timeout', {
        details: { ...details, clock: error.clock },
        cause: error,
      });
    case 'rate':
    case 'unavailable':
      return new PlatformError('provider_unavailable', { details, retryAfterSeconds, cause: error });
    case 'overload':
    case 'transport':
      return isAway(error)
        ? new PlatformError('provider_unavailable', { details, retryAfterSeconds, cause: error })
        : new PlatformError('provider_error', { details, cause: error });
    default:
      return new PlatformError('provider_error', {
        details,
        headers: isFinal(error.failure) ? noRetry : {},
        cause: error,
      });
  }
}

/** The vendor was not reached, or reports overload. Every other failure is a bad answer. */
function isAway(error: VendorError): boolean {
  return (
    error.status === 503 ||
    error.status === 529 ||
    error.code === 'overloaded_error' ||
    error.code === 'unreachable'
  );
}
