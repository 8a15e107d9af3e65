import type { PlatformError } from '../../kernel/errors.js';

/**
 * The message in the envelopes of OpenAI and Anthropic. They have no details, so what another service answered, which
 * tells a prompt that is too long from a wrong parameter, is part of the message.
 */
export function compatibleMessage({ message, details }: PlatformError): string {
  const reason = details?.['original_error'];
  if (typeof reason !== 'string' || message.includes(reason)) return message;
  return `${message} ${String(details?.['provider'])}: ${reason}`;
}
