import { PlatformError } from '../../kernel/errors.js';
import type { VendorError } from '../../llm/index.js';

/** A vendor's failure as the caller sees it: its reason, scrubbed and bounded, and whether to come back. */
export function platformFailure(error: VendorError): PlatformError {
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
      return new PlatformError('provider_error', { details, cause: error });
  }
}

/** Not reached at all, or it says itself that it is overloaded; anything else is an answer, and a bad one. */
function isAway(error: VendorError): boolean {
  return (
    error.status === 503 ||
    error.status === 529 ||
    error.code === 'overloaded_error' ||
    error.code === 'unreachable'
  );
}
