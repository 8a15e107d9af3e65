import type { ExecutionContext } from 'ava';
import { type Invocation, readInvocation } from '../../../../src/conversations/invocation/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';

export const integration = { integration: true };
export const person = { integration: false };

/** A body as the edge hands it over: read from JSON, so that `__proto__` is a name like any other. */
export function read(body: string | Record<string, unknown>, privileges = integration): Invocation {
  const json = typeof body === 'string' ? body : JSON.stringify({ message: 'hello', ...body });
  return readInvocation(JSON.parse(json), privileges);
}

export function refused(t: ExecutionContext, body: Record<string, unknown>, field: string): void {
  const error = t.throws(() => read(body), { instanceOf: PlatformError }, `${field} is refused`);
  t.is(error.code, 'validation_error');
  t.is(error.status, 400);
  t.is(error.details?.['field'], field);
  t.is(typeof error.details?.['issue'], 'string');
}

export function ignored(invocation: Invocation): Record<string, string> {
  return Object.fromEntries(invocation.ignoredFields.map(({ field, reason }) => [field, reason]));
}
