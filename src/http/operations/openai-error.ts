import type { PlatformError } from '../../kernel/errors.js';
import { compatibleMessage } from './compatible-message.js';

/** The error envelope of OpenAI's API, with the platform's own code. */
export function toOpenAiError(
  error: PlatformError,
  code: string,
): {
  error: { message: string; type: string; param: string | null; code: string };
} {
  const field = error.details?.['field'];
  return {
    error: {
      message: compatibleMessage(error),
      type: typeOf(error),
      param: typeof field === 'string' ? field : null,
      code,
    },
  };
}

function typeOf(error: PlatformError): string {
  if (error.code === 'quota_exceeded') return 'insufficient_quota';
  if (error.status === 401) return 'authentication_error';
  if (error.status === 403) return 'permission_error';
  if (error.status === 429) return 'rate_limit_error';
  return error.status >= 500 ? 'server_error' : 'invalid_request_error';
}
