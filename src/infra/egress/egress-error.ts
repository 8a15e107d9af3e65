import { PlatformError } from '../../kernel/errors.js';

export type EgressFailure =
  /** The rules refuse the address, or every address of the name. */
  | 'forbidden_target'
  | 'name_not_found'
  /** No connection, or a broken one; also TLS that does not verify. */
  | 'connection_failed'
  | 'timeout'
  | 'too_large'
  /** A redirect to another host, or too many of them. */
  | 'redirect_refused'
  /** The answer is not HTTP, or does not decompress. */
  | 'bad_answer'
  /** The caller's own signal aborted. */
  | 'cancelled'
  /** This process may no longer act for the caller; nothing was sent. */
  | 'withdrawn';

const terminal: ReadonlySet<EgressFailure> = new Set([
  'forbidden_target',
  'too_large',
  'redirect_refused',
  'cancelled',
  'withdrawn',
]);

const codes: Partial<Record<EgressFailure, 'provider_timeout'>> = { timeout: 'provider_timeout' };

/** An outbound call without a complete answer. The message may be shown to the tenant. */
export class EgressError extends PlatformError {
  readonly failure: EgressFailure;
  /** False if the request may have reached the other side and may have had an effect. */
  readonly neverSent: boolean;

  constructor(
    failure: EgressFailure,
    message: string,
    options: { readonly host: string; readonly neverSent?: boolean; readonly cause?: unknown },
  ) {
    super(codes[failure] ?? 'provider_error', {
      message,
      details: { provider: options.host, original_error: message, reason: failure },
      cause: options.cause,
    });
    this.name = 'EgressError';
    this.failure = failure;
    this.neverSent = options.neverSent ?? false;
  }

  override get retry(): 'never' | 'later' {
    return terminal.has(this.failure) ? 'never' : 'later';
  }
}
