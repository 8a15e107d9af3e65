import { invalid, isObject } from './flat-object.js';
import type { IgnoredFields } from './ignored-fields.js';

const timeoutMsMin = 1_000;

/** The deadline that was asked for; it can only shorten the platform's. */
export function readTimeoutMs(value: unknown, ignored: IgnoredFields): number | undefined {
  if (!isObject(value)) throw invalid('options', 'must be an object');
  let timeoutMs: number | undefined;
  for (const [name, item] of Object.entries(value)) {
    // A deadline that makes no sense is not a reason to refuse the turn; it runs under the platform's.
    if (name === 'timeout_ms') timeoutMs = usableTimeoutMs(item);
    if (name !== 'timeout_ms' || timeoutMs === undefined) ignored.add(`options.${name}`, 'not_supported');
  }
  return timeoutMs;
}

/** Also the rule of a trigger's time-outs: what is not a number, or below a second, is as if it were not there. */
export function usableTimeoutMs(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= timeoutMsMin
    ? Math.floor(value)
    : undefined;
}
