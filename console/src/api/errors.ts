/** What the API said when it refused, in one form for all its dialects. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0: no answer came. */
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
  /** When a repeat may succeed, where the API said it. */
  readonly retryAfterSeconds: number | undefined;

  constructor(parts: {
    status: number;
    code: string;
    message: string;
    details?: Readonly<Record<string, unknown>>;
    requestId?: string | null;
    retryAfterSeconds?: number | undefined;
    cause?: unknown;
  }) {
    super(parts.message, { cause: parts.cause });
    this.status = parts.status;
    this.code = parts.code;
    this.details = parts.details ?? {};
    this.requestId = parts.requestId ?? null;
    this.retryAfterSeconds = parts.retryAfterSeconds;
  }

  /** The field that the API names, and what is wrong with it. */
  get field(): { readonly name: string; readonly issue: string } | undefined {
    const { field, issue } = this.details;
    if (typeof field !== 'string') return undefined;
    return { name: field, issue: typeof issue === 'string' ? issue : this.message };
  }
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export function apiErrorOf(response: Response | undefined, body: unknown, cause?: unknown): ApiError {
  if (response === undefined) {
    return new ApiError({
      status: 0,
      code: 'unreachable',
      message: 'The server could not be reached. Check the connection and try again.',
      cause,
    });
  }
  const top = record(body);
  // `{error: code, message, details}`, or `{error: {code, message}}` of telemetry and of vendors' dialects.
  const inner = typeof top['error'] === 'object' ? record(top['error']) : top;
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new ApiError({
    status: response.status,
    code: text(top['error']) ?? text(inner['code']) ?? text(inner['type']) ?? `http_${response.status}`,
    message: text(inner['message']) ?? `The server answered ${response.status} without a reason.`,
    details: record(inner['details']),
    requestId: response.headers.get('x-request-id'),
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
  });
}

/** Whether a 401 speaks of the token, and not of a password in the request. */
export async function isRefusedToken(response: Response): Promise<boolean> {
  try {
    const { error } = record(await response.clone().json());
    const code = text(error) ?? text(record(error)['code']) ?? '';
    return /^(?:invalid_token|authentication_required|unauthorized)$/i.test(code);
  } catch {
    return false;
  }
}

export const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.status === 403;
export const isMissing = (error: unknown): boolean => error instanceof ApiError && error.status === 404;
