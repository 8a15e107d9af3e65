import type { PlatformError } from '../../kernel/errors.js';
import type { RateFigures } from '../operations/index.js';

/** A separate window (failed sign-ins) and the monthly quota report their own figures when they refuse. */
export function figuresOfRefusal({ code, details }: PlatformError): RateFigures | undefined {
  if (code !== 'rate_limit_exceeded' && code !== 'quota_exceeded') return undefined;
  const { limit, remaining = 0, reset = secondsAt(details?.['reset_date']) } = details ?? {};
  return typeof limit === 'number' && typeof remaining === 'number' && typeof reset === 'number'
    ? { limit, remaining, reset }
    : undefined;
}

function secondsAt(moment: unknown): number | undefined {
  return typeof moment === 'string' ? Math.ceil(Date.parse(moment) / 1_000) : undefined;
}
