/** The error of the platform's answer. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly requestId: string | undefined;
  /** From `Retry-After`. */
  readonly retryAfterMs: number | undefined;
}

/** Conditions that only a change of the plan or its payment ends, so that no retry helps. */
const commercialCodes: ReadonlySet<string> = new Set(['quota_exceeded', 'trial_expired', 'no_subscription']);

/** The platform answered with an error. `code` is one of those in `docs/errors.md`. */
export class ApiError extends Error implements Refusal {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor({ status, code, message, details, requestId, retryAfterMs }: Refusal) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }

  /** The field of the request that the platform names, and what is wrong with it. */
  get field(): { readonly name: string; readonly issue: string } | undefined {
    const { field, issue } = this.details ?? {};
    if (typeof field !== 'string') return undefined;
    return { name: field, issue: typeof issue === 'string' ? issue : this.message };
  }

  /** Whether the quota, the budget or the plan refused the request. */
  get isCommercial(): boolean {
    return commercialCodes.has(this.code);
  }
}

/** No node answered, or the connection was lost and could not be continued. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** The turn that was being read; `executions.follow` continues it. */
  readonly executionId: string | undefined;
  /** The last event that was handed out. */
  readonly lastEventId: string | undefined;

  constructor(
    message: string,
    options: {
      readonly cause?: unknown;
      readonly executionId?: string | undefined;
      readonly lastEventId?: string | undefined;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.executionId = options.executionId;
    this.lastEventId = options.lastEventId;
  }
}

/** Reads the error of an answer in any of the forms that the platform writes. */
export async function refusalOf(response: Response, nowMs: number): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  return refusalIn(response, parsed(text), nowMs);
}

/** The same, for an answer whose body was read. */
export function refusalIn(response: Response, body: unknown, nowMs: number): ApiError {
  const { code, message, details } = errorIn(body);
  return new ApiError({
    status: response.status,
    code: code ?? `http_${response.status}`,
    message: message ?? `The server answered ${response.status} ${response.statusText}`.trim(),
    details,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterMs: retryAfterMs(response.headers, nowMs),
  });
}

interface FoundError {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly details?: Record<string, unknown> | undefined;
}

/** `{error, message, details}`, or `{error: {code | type, message}}` as telemetry and the vendors' dialects write it. */
function errorIn(answer: unknown): FoundError {
  const body = objectOf(answer);
  const inner = objectOf(body?.['error']);
  if (inner !== undefined) {
    return { code: textOf(inner['code']) ?? textOf(inner['type']), message: textOf(inner['message']) };
  }
  return {
    code: textOf(body?.['error']),
    message: textOf(body?.['message']),
    details: objectOf(body?.['details']),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A proxy's page: the status says what there is to say.
    return undefined;
  }
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Seconds or a date (RFC 9110). */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after');
  if (value === null || value.trim() === '') return undefined;
  const seconds = Number(value);
  const waitMs = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - nowMs;
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}
