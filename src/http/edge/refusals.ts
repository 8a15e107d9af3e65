/** The refusals of requests that reach no operation. */
import { PlatformError } from '../../kernel/errors.js';
import type { Method, Operation } from '../operations/index.js';

export function notFound(path: string): PlatformError {
  return new PlatformError('not_found', {
    message: `There is no operation at ${shown(path)}. GET /docs lists all.`,
  });
}

export function notAllowed(operations: readonly Operation[], method: string): PlatformError {
  const methods = methodsOf(operations);
  const allowed = methods.includes('GET') ? [...methods, 'HEAD'] : methods;
  return new PlatformError('method_not_allowed', {
    message: `This address takes ${allowed.join(', ')}, not ${shown(method)}.`,
    headers: { Allow: allowed.join(', ') },
  });
}

export function ambiguousFraming(fault: string): PlatformError {
  return new PlatformError('validation_error', {
    message: fault,
    details: { field: 'headers', issue: fault },
  });
}

export function overloaded(): PlatformError {
  return new PlatformError('service_unavailable', {
    message: 'The server is overloaded. Retry in a moment.',
    retryAfterSeconds: 1,
  });
}

export function methodsOf(operations: readonly Operation[]): readonly Method[] {
  return operations.map(({ method }) => method);
}

/** Part of what the client sent, for a message. */
function shown(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 99)}…`;
}
