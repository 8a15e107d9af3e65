/**
 * Every error of the platform in one table: status, whether the same request may succeed when repeated, and a fixed
 * message that holds for every occurrence. The public errors endpoint shows only the fixed message, so no entry may
 * contain data of a tenant.
 */
interface ErrorKind {
  readonly status: number;
  /** `never`: the request itself is wrong. `later`: the same request may succeed after a while. */
  readonly retry: 'never' | 'later';
  readonly message: string;
}

export const errorKinds = {
  // General
  authentication_required: { status: 401, retry: 'never', message: 'This request needs a credential.' },
  invalid_api_key: { status: 401, retry: 'never', message: 'The API key is unknown, revoked or expired.' },
  invalid_token: { status: 401, retry: 'never', message: 'The access token is not valid or has expired.' },
  invalid_credentials: { status: 401, retry: 'never', message: 'The address or the password is wrong.' },
  invalid_signature: { status: 401, retry: 'never', message: 'The signature is missing or does not match.' },
  insufficient_permissions: {
    status: 403,
    retry: 'never',
    message: 'The role does not allow this operation.',
  },
  validation_error: { status: 400, retry: 'never', message: 'The request is not valid.' },
  missing_required_field: { status: 400, retry: 'never', message: 'A required field is missing.' },
  invalid_model: { status: 400, retry: 'never', message: 'The model is unknown or not available.' },
  invalid_provider: { status: 400, retry: 'never', message: 'The provider is not supported.' },
  not_found: { status: 404, retry: 'never', message: 'The resource was not found.' },
  agent_not_found: { status: 404, retry: 'never', message: 'The agent was not found.' },
  tenant_not_found: { status: 404, retry: 'never', message: 'The tenant was not found.' },
  method_not_allowed: { status: 405, retry: 'never', message: 'The method is not allowed on this address.' },
  conflict: { status: 409, retry: 'never', message: 'The request conflicts with what already exists.' },
  trigger_disabled: { status: 409, retry: 'never', message: 'The trigger is disabled.' },
  upgrade_required: {
    status: 426,
    retry: 'never',
    message: 'This address speaks WebSocket; the request did not ask for it.',
  },
  payload_too_large: { status: 413, retry: 'never', message: 'The request body is too large.' },
  unsupported_media_type: { status: 415, retry: 'never', message: 'The content type is not supported here.' },
  rate_limit_exceeded: { status: 429, retry: 'later', message: 'Too many requests.' },
  quota_exceeded: { status: 429, retry: 'later', message: 'The quota is used up.' },
  internal_error: { status: 500, retry: 'later', message: 'An unexpected error occurred.' },
  provider_error: { status: 502, retry: 'later', message: 'The upstream service answered with an error.' },
  provider_unavailable: { status: 503, retry: 'later', message: 'The provider is temporarily unavailable.' },
  service_unavailable: { status: 503, retry: 'later', message: 'The service is temporarily unavailable.' },
  provider_timeout: { status: 504, retry: 'later', message: 'The provider did not answer in time.' },
  // Key management
  invalid_input: { status: 400, retry: 'never', message: 'The request is not valid.' },
  forbidden: { status: 403, retry: 'never', message: 'The role does not allow this operation.' },
  plan_limit_exceeded: { status: 403, retry: 'never', message: "The value is above the plan's limit." },
  MODEL_TIER_RESTRICTED: { status: 403, retry: 'never', message: "The model is outside the plan's tiers." },
  ROLE_ESCALATION_DENIED: {
    status: 403,
    retry: 'never',
    message: 'The role is above the role of the caller.',
  },
  creation_failed: { status: 500, retry: 'later', message: 'The resource could not be created.' },
  revocation_failed: { status: 400, retry: 'never', message: 'The key is already revoked.' },
  // Session control
  INVALID_SESSION_STATE: { status: 409, retry: 'never', message: 'The session is in another state.' },
  NO_TRIGGER_HISTORY: {
    status: 422,
    retry: 'never',
    message: 'The session has no trigger to answer through.',
  },
  NO_CALLBACK_CONFIG: { status: 422, retry: 'never', message: 'The trigger has no outbound callback.' },
  DELIVERY_FAILED: { status: 502, retry: 'later', message: 'The outbound channel returned an error.' },
  // Telemetry
  TELEMETRY_MISSING_DATE_RANGE: {
    status: 400,
    retry: 'never',
    message: 'start_date and end_date are required.',
  },
  INTERNAL_ERROR: { status: 500, retry: 'later', message: 'An unexpected error occurred.' },
  UNAUTHORIZED: { status: 401, retry: 'never', message: 'The access token is missing or not valid.' },
  TENANT_NOT_FOUND: { status: 404, retry: 'never', message: 'The tenant was not found.' },
  // Invocation
  VALIDATION_ERROR: { status: 400, retry: 'never', message: 'The request is not valid.' },
  CONFLICT: { status: 409, retry: 'never', message: 'The request conflicts with the session.' },
  CONTEXT_PARAM_MISSING: { status: 400, retry: 'never', message: 'A parameter from the context is missing.' },
  TURN_TIMEOUT: { status: 200, retry: 'later', message: 'The turn ended by its deadline.' },
  EXECUTION_TIMEOUT: { status: 504, retry: 'later', message: 'The execution did not answer in time.' },
  STREAM_TIMEOUT: { status: 504, retry: 'later', message: 'The stream reached its time limit.' },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorKinds;

/** Optional parts of an error besides its code. */
export interface ErrorContext {
  /** Replaces the fixed message in the answer to the caller; never shown by the public errors endpoint. */
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

export class PlatformError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, context: ErrorContext = {}) {
    super(context.message ?? errorKinds[code].message, { cause: context.cause });
    this.name = 'PlatformError';
    this.code = code;
    this.details = context.details;
    this.retryAfterSeconds = context.retryAfterSeconds;
    this.headers = context.headers ?? {};
  }

  get status(): number {
    return errorKinds[this.code].status;
  }

  get retry(): 'never' | 'later' {
    return errorKinds[this.code].retry;
  }
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
