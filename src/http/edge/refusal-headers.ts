import type { PlatformError } from '../../kernel/errors.js';

/**
 * The clients of OpenAI and Anthropic sleep as long as Retry-After says, and a used-up month says weeks: the program that
 * asked would hang. A window of a minute is worth their wait.
 */
const longestWaitSeconds = 60;

export function headersOfRefusal({ headers, retryAfterSeconds }: PlatformError): Record<string, string> {
  return {
    ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
    ...(retryAfterSeconds !== undefined &&
      retryAfterSeconds > longestWaitSeconds && { 'X-Should-Retry': 'false' }),
    ...headers,
  };
}
