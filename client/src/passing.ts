import type { ApiError } from './errors.js';

/** A node starts, stops or is overloaded, or a window is full. */
const statuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** Whether the stream may be asked for again, after a wait of at most so long where the platform names one. */
export function isPassing({ status, code, retryAfterMs = 0 }: ApiError, waitMsMax: number): boolean {
  return statuses.has(status) && code !== 'quota_exceeded' && retryAfterMs <= waitMsMax;
}
