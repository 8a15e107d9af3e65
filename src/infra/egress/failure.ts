import { errors } from 'undici';
import { connectionFailure } from './connection.js';
import { EgressError, type EgressFailure } from './egress-error.js';

/** Maps errors of undici, the socket, TLS or a decompressor to the failures of outbound calls. */
export function failureOf(
  error: unknown,
  host: string,
  { signal, isWritten }: { readonly signal: AbortSignal; readonly isWritten: boolean },
): unknown {
  // An abort by the clock or the caller appears as various errors; the reason of the signal tells what happened.
  if (signal.aborted) return signal.reason;
  if (error instanceof EgressError || !(error instanceof Error)) return error;
  const made = (failure: EgressFailure, message: string, cause: Error) =>
    new EgressError(failure, message, { host, neverSent: !isWritten, cause });
  if (error instanceof errors.ConnectTimeoutError) {
    return made('timeout', `${host} did not accept a connection in time.`, error);
  }
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError) {
    return made('timeout', `${host} sent no data for too long.`, error);
  }
  if (error instanceof errors.HeadersOverflowError) {
    return made('too_large', `The headers in the answer of ${host} are too large.`, error);
  }
  const code = codeOf(error);
  if (error instanceof errors.HTTPParserError || error instanceof errors.ResponseContentLengthMismatchError) {
    return made('bad_answer', `The answer of ${host} is not valid HTTP.`, error);
  }
  if (code.startsWith('Z_') || code.startsWith('ERR__ERROR_FORMAT') || code.startsWith('ERR_BROTLI')) {
    return made('bad_answer', `The answer of ${host} cannot be decompressed.`, error);
  }
  if (isCertificateProblem(code)) {
    return made('connection_failed', `The certificate of ${host} is not trusted (${code}).`, error);
  }
  if (Reflect.get(error, 'syscall') === 'connect' || Reflect.get(error, 'syscall') === 'getaddrinfo') {
    return connectionFailure(host, error);
  }
  if (error instanceof errors.UndiciError || code !== '') {
    return made(
      'connection_failed',
      `The connection to ${host} broke${code === '' ? '' : ` (${code})`}.`,
      error,
    );
  }
  // A defect of this code, not a network failure.
  return error;
}

function codeOf(error: Error): string {
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? code : '';
}

function isCertificateProblem(code: string): boolean {
  return /^(?:ERR_TLS_CERT|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/.test(
    code,
  );
}
