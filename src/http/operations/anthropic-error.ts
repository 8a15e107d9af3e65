import type { ErrorObject } from '@anthropic-ai/sdk/resources/shared';
import type { PlatformError } from '../../kernel/errors.js';
import { compatibleMessage } from './compatible-message.js';

/** The error envelope of Anthropic's API. A stream sends it as its last event, named `error`. */
export function toAnthropicError(
  error: PlatformError,
  code: string,
  requestId?: string,
): {
  type: 'error';
  request_id?: string;
  error: { type: ErrorObject['type'] | 'request_too_large'; message: string; code: string };
} {
  return {
    type: 'error',
    error: { type: typeOf(error.status), message: compatibleMessage(error), code },
    ...(requestId !== undefined && { request_id: requestId }),
  };
}

function typeOf(status: number): ErrorObject['type'] | 'request_too_large' {
  switch (status) {
    case 401:
      return 'authentication_error';
    case 403:
      return 'permission_error';
    case 404:
      return 'not_found_error';
    case 413:
      return 'request_too_large';
    case 429:
      return 'rate_limit_error';
    case 503:
      return 'overloaded_error';
    case 504:
      return 'timeout_error';
    default:
      return status >= 500 ? 'api_error' : 'invalid_request_error';
  }
}
