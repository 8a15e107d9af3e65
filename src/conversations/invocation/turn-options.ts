import { invalidField } from '../../kernel/errors.js';
import { isObject } from './flat-object.js';
import type { IgnoredFields } from './ignored-fields.js';

const timeoutMsMin = 1_000;

/** The requested deadline; it can only shorten the platform's. */
export function readTimeoutMs(value: unknown, ignored: IgnoredFields): number | undefined {
  if (!isObject(value)) throw invalidField('options', 'must be an object');
  let timeoutMs: number | undefined;
  for (const [name, item] of Object.entries(value)) {
    // An unusable deadline does not refuse the turn; the platform's deadline applies.
    if (name === 'timeout_ms') timeoutMs = usableTimeoutMs(item);
    if (name !== 'timeout_ms' || timeoutMs === undefined) ignored.add(`options.${name}`, 'not_supported');
  }
  return timeoutMs;
}

/** Also applies to the timeouts of triggers: a value that is not a number, or below a second, is ignored. */
export function usableTimeoutMs(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= timeoutMsMin
    ? Math.floor(value)
    : undefined;
}
