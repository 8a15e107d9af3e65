import { invalidField } from '../../kernel/errors.js';
import { type GivenResponseFormat, readResponseFormat } from '../../models/response-format/index.js';
import { isObject } from './flat-object.js';
import type { IgnoredFields } from './ignored-fields.js';

const timeoutMsMin = 1_000;

export interface TurnOptions {
  /** The requested deadline; it can only shorten the platform's. */
  readonly timeoutMs?: number | undefined;
  readonly responseFormat?: GivenResponseFormat | undefined;
}

/** `integration`: whether the sender may use what only integrations may. */
export function readOptions(value: unknown, integration: boolean, ignored: IgnoredFields): TurnOptions {
  if (!isObject(value)) throw invalidField('options', 'must be an object');
  let timeoutMs: number | undefined;
  let responseFormat: GivenResponseFormat | undefined;
  for (const [name, item] of Object.entries(value)) {
    if (name === 'response_format') {
      if (!integration) ignored.add('options.response_format', 'requires_admin_api_key');
      else if (item !== null) responseFormat = readResponseFormat(item, 'options.response_format');
      continue;
    }
    if (name !== 'timeout_ms') {
      ignored.addUnknown(`options.${name}`, 'not_supported');
      continue;
    }
    // An unusable deadline does not refuse the turn; the platform's deadline applies.
    timeoutMs = usableTimeoutMs(item);
    if (timeoutMs === undefined) ignored.add('options.timeout_ms', 'not_supported');
  }
  return { timeoutMs, responseFormat };
}

/** Also applies to the timeouts of triggers: a value that is not a number, or below a second, is ignored. */
export function usableTimeoutMs(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= timeoutMsMin
    ? Math.floor(value)
    : undefined;
}
