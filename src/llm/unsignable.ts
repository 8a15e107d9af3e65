import { VendorError, type FailureClass } from './vendor-error.js';

/** A signer has no token for a reason that is no fault of the key. */
export class TokenServiceError extends Error {
  readonly failure: FailureClass;

  constructor(failure: FailureClass, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TokenServiceError';
    this.failure = failure;
  }
}

/** The failure of a request that could not be signed: that of the service that gives out tokens, else the key's. */
export function unsignable(vendor: string, cause: unknown): VendorError {
  const failure = cause instanceof TokenServiceError ? cause.failure : 'credential';
  const reason = cause instanceof Error ? cause.message : 'no reason was given';
  return new VendorError(failure, `the request could not be signed: ${reason}`, { vendor, cause });
}
