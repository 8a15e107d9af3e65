import { type ErrorCode, errorKinds } from './error-kinds.js';

export { type ErrorCode, errorKinds };

/** Optional parts of an error besides its code. */
export interface ErrorContext {
  /** Replaces the fixed message in the answer to the caller; never shown by the public errors endpoint. */
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** Errors of another service, and those about a field. The specification promises their details. */
type UpstreamCode = 'provider_error' | 'provider_timeout' | 'provider_unavailable';
type FieldCode = 'validation_error' | 'unknown_field' | 'unknown_parameter' | 'malformed_body' | 'no_message';

interface Detailed<Details extends ErrorContext['details']> extends ErrorContext {
  readonly details: Details & {};
}

export interface FieldDetails extends Readonly<Record<string, unknown>> {
  readonly field: string;
  readonly issue: string;
}

export interface UpstreamDetails extends Readonly<Record<string, unknown>> {
  /** The service that failed: a vendor, a host. */
  readonly provider: string;
  /** What it said, or how it failed; without secrets. */
  readonly original_error: string;
}

export class PlatformError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: Exclude<ErrorCode, UpstreamCode | FieldCode>, context?: ErrorContext);
  constructor(code: Exclude<ErrorCode, FieldCode>, context: Detailed<UpstreamDetails>);
  constructor(code: Exclude<ErrorCode, UpstreamCode>, context: Detailed<FieldDetails>);
  constructor(code: ErrorCode, context: ErrorContext = {}) {
    super(context.message ?? errorKinds[code].message, { cause: context.cause });
    this.name = 'PlatformError';
    this.code = code;
    this.details = context.details;
    this.retryAfterSeconds = context.retryAfterSeconds;
    this.headers = context.headers ?? {};
  }

  /** An error that was made elsewhere: by another node, which may be older, or in an answer that was kept. */
  static again(code: ErrorCode, context: ErrorContext): PlatformError {
    const said = context.message ?? errorKinds[code].message;
    if (isUpstream(code)) {
      const details = { provider: 'unknown', original_error: said, ...context.details };
      return new PlatformError(code, { ...context, details });
    }
    if (!isOfField(code)) return new PlatformError(code, context);
    return new PlatformError(code, {
      ...context,
      details: { field: 'request', issue: said, ...context.details },
    });
  }

  get status(): number {
    return errorKinds[this.code].status;
  }

  get retry(): 'never' | 'later' {
    return errorKinds[this.code].retry;
  }
}

const upstreamCodes: ReadonlySet<ErrorCode> = new Set<UpstreamCode>([
  'provider_error',
  'provider_timeout',
  'provider_unavailable',
]);
const fieldCodes: ReadonlySet<ErrorCode> = new Set<FieldCode>([
  'validation_error',
  'unknown_field',
  'unknown_parameter',
  'malformed_body',
  'no_message',
]);

function isUpstream(code: ErrorCode): code is UpstreamCode {
  return upstreamCodes.has(code);
}

function isOfField(code: ErrorCode): code is FieldCode {
  return fieldCodes.has(code);
}

/** An error about one field, in the form that the specification gives `validation_error`. */
export function invalidField(field: string, issue: string): PlatformError {
  return new PlatformError('validation_error', { message: `${field}: ${issue}`, details: { field, issue } });
}

/**
 * An error about a limit, in the form that the specification gives `rate_limit_exceeded`: the limit, and when the next
 * request is allowed.
 */
export function tooManyRequests(
  limit: number,
  room: { readonly atMs: number; readonly nowMs: number; readonly message?: string },
): PlatformError {
  const { atMs, nowMs, message } = room;
  const retryAfterSeconds = Math.max(1, Math.ceil((atMs - nowMs) / 1_000));
  return new PlatformError('rate_limit_exceeded', {
    ...(message === undefined ? {} : { message }),
    details: { limit, remaining: 0, reset: Math.ceil(atMs / 1_000), retry_after: retryAfterSeconds },
    retryAfterSeconds,
  });
}
