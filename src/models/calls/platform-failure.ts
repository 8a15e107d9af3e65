import { PlatformError } from '../../kernel/errors.js';
import { isFinal, type VendorError } from '../../llm/index.js';

/** The clients of OpenAI and Anthropic repeat a 502 twice, each time counted, unless they are told. */
const noRetry = { 'X-Should-Retry': 'false' };

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
