import type { FailureClass } from './vendor-error.js';
import type { Headers } from './vendor.js';

/** The class for a status. A vendor's own code is more precise and is checked first. */
export function failureByStatus(status: number): FailureClass {
  if (status === 401 || status === 402 || status === 403) return 'credential';
  if (status === 408 || status === 409) return 'overload';
  if (status === 429) return 'rate';
  if (status >= 500) return 'overload';
  if (status >= 400) return 'request';
  return 'nonsense';
}

export function header(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

/** Reads `retry-after-ms`, or `Retry-After` in seconds (also fractions) or as a date; undefined if there is none. */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const exact = Number.parseFloat(header(headers, 'retry-after-ms') ?? '');
  if (Number.isFinite(exact) && exact >= 0) return exact;
  const value = header(headers, 'retry-after');
  if (value === undefined) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(value)) return Number.parseFloat(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

/** Vendors share no code for context overflow, but use similar words. */
export function speaksOfContextOverflow(message: string): boolean {
  return /context[ _-]?(length|window|limit)|maximum (context|prompt)|prompt is too long|too many (input )?tokens|exceeds? the maximum number of tokens|input token count/i.test(
    message,
  );
}
