import { type ErrorCode, errorKinds, PlatformError } from '../../kernel/errors.js';

/**
 * The specification gives the same errors different forms: key endpoints have other names for two of them, invocation
 * writes some in capitals, and telemetry has a separate envelope. Handlers throw one set of codes; the dialect of the
 * operation translates at the very end.
 */
export type Dialect = 'general' | 'keys' | 'invocation' | 'telemetry';

const translations: Record<Dialect, Partial<Record<ErrorCode, ErrorCode>>> = {
  general: {},
  keys: {
    validation_error: 'invalid_input',
    missing_required_field: 'invalid_input',
    insufficient_permissions: 'forbidden',
  },
  invocation: {
    validation_error: 'VALIDATION_ERROR',
    missing_required_field: 'VALIDATION_ERROR',
    conflict: 'CONFLICT',
  },
  telemetry: {
    validation_error: 'VALIDATION_ERROR',
    authentication_required: 'UNAUTHORIZED',
    invalid_token: 'UNAUTHORIZED',
    invalid_api_key: 'UNAUTHORIZED',
  },
};

export function translate(code: ErrorCode, dialect: Dialect): ErrorCode {
  return translations[dialect][code] ?? code;
}

/**
 * The code of an error in the operation's dialect. Two errors that do not concern the operation's own input keep their
 * general name: a missing tenant header, and, for an invocation, a body that is not JSON and so has no fields yet.
 */
export function codeOf(error: PlatformError, dialect: Dialect): ErrorCode {
  const field = error.details?.['field'];
  const aboutTheHeader = error.code === 'missing_required_field' && field === 'x-tenant-id';
  const noInvocationYet = dialect === 'invocation' && error.code === 'validation_error' && field === 'body';
  return aboutTheHeader || noInvocationYet ? error.code : translate(error.code, dialect);
}

/** All codes that an error can have in this dialect, for the API documents. */
export function codesOf(code: ErrorCode, dialect: Dialect): readonly ErrorCode[] {
  const translated = translate(code, dialect);
  return dialect === 'invocation' && code === 'validation_error' ? [translated, code] : [translated];
}

/** The body of an error, in the envelope of the dialect. */
export function envelope(error: PlatformError, dialect: Dialect): object {
  const code = codeOf(error, dialect);
  if (dialect === 'telemetry') return { error: { code: code.toUpperCase(), message: error.message } };
  return {
    error: code,
    message: error.message,
    ...(error.details === undefined ? {} : { details: error.details }),
    status: 'error',
  };
}

/** Hides an unexpected failure from the client; the log contains it by request id. */
export function unexpected(cause: unknown): PlatformError {
  return new PlatformError('internal_error', { message: errorKinds.internal_error.message, cause });
}
