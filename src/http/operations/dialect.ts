import { type ErrorCode, errorKinds, PlatformError } from '../../kernel/errors.js';
import { toAnthropicError } from './anthropic-error.js';
import { toOpenAiError } from './openai-error.js';

/**
 * The specification gives the same errors different forms: key endpoints have other names for two of them, invocation
 * writes some in capitals, telemetry has a separate envelope, and the compatible interfaces answer like the vendors that
 * their clients know. Handlers throw one set of codes; the dialect of the operation translates at the very end.
 */
export const dialects = ['general', 'keys', 'invocation', 'telemetry', 'openai', 'anthropic'] as const;
export type Dialect = (typeof dialects)[number];

/** Codes that are finer inside than the specification's. */
const shared: Partial<Record<ErrorCode, string>> = {
  missing_tenant: 'missing_required_field',
  unknown_field: 'validation_error',
  unknown_parameter: 'validation_error',
  malformed_body: 'validation_error',
  no_message: 'validation_error',
  idempotency_key_reused: 'conflict',
};

const spellings: Record<Dialect, Partial<Record<ErrorCode, string>>> = {
  general: shared,
  keys: {
    ...shared,
    validation_error: 'invalid_input',
    unknown_field: 'invalid_input',
    unknown_parameter: 'invalid_input',
    malformed_body: 'invalid_input',
    missing_required_field: 'invalid_input',
    insufficient_permissions: 'forbidden',
  },
  invocation: {
    ...shared,
    validation_error: 'VALIDATION_ERROR',
    unknown_field: 'VALIDATION_ERROR',
    unknown_parameter: 'VALIDATION_ERROR',
    missing_required_field: 'VALIDATION_ERROR',
    no_message: 'VALIDATION_ERROR',
    conflict: 'CONFLICT',
  },
  telemetry: {
    ...shared,
    authentication_required: 'UNAUTHORIZED',
    invalid_token: 'UNAUTHORIZED',
    invalid_api_key: 'UNAUTHORIZED',
  },
  openai: shared,
  anthropic: shared,
};

/** The code as clients of the dialect see it. */
export function spelled(code: ErrorCode, dialect: Dialect): string {
  const spelling = spellings[dialect][code] ?? code;
  return dialect === 'telemetry' ? spelling.toUpperCase() : spelling;
}

/** The body of an error, in the envelope of the dialect. Only Anthropic's has the request id; all have it as a header. */
export function envelope(error: PlatformError, dialect: Dialect, requestId?: string): object {
  const code = spelled(error.code, dialect);
  if (dialect === 'openai') return toOpenAiError(error, code);
  if (dialect === 'anthropic') return toAnthropicError(error, code, requestId);
  if (dialect === 'telemetry') return { error: { code, message: error.message } };
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
