import { PlatformError, tooManyRequests } from '../../kernel/errors.js';
import type { Admitted, RateFigures } from '../../http/operations/index.js';
import { type SlidingWindow, windowMs } from './sliding-window.js';

/** One moment, by the clock of the windows and by the clock that callers read. */
export interface Now {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Sent if waiting alone does not help. */
const neverSeconds = 86_400;

export function figuresOf(window: SlidingWindow | undefined, limit: number, now: Now): RateFigures {
  const used = window?.used(now.monotonicMs) ?? 0;
  const roomAtMs = window?.roomAtMs(now.monotonicMs, limit) ?? now.monotonicMs + windowMs;
  return {
    limit,
    remaining: Math.max(0, limit - used),
    reset: Math.ceil((now.wallMs + roomAtMs - now.monotonicMs) / 1_000),
  };
}

/** The refusal of a full window. */
export function windowFull(window: SlidingWindow, limit: number, now: Now): Admitted {
  const waitMs = window.roomAtMs(now.monotonicMs, limit) - now.monotonicMs;
  return rateLimited(limit, now.wallMs + waitMs, now);
}

/** The refusal of a count that has room again at a known time. */
export function rateLimited(limit: number, roomAtWallMs: number, now: Now): Admitted {
  const figures = { limit, remaining: 0, reset: Math.ceil(roomAtWallMs / 1_000) };
  return { figures, refusal: tooManyRequests(limit, { atMs: roomAtWallMs, nowMs: now.wallMs }) };
}

/** The refusal of a used-up quota; `resetWallMs` is null if it never resets. */
export function quotaExceeded(
  quota: { readonly limit: number; readonly used: number },
  resetWallMs: number | null,
  now: Now,
): Admitted {
  const retryAfterSeconds =
    resetWallMs === null ? neverSeconds : Math.max(1, Math.ceil((resetWallMs - now.wallMs) / 1_000));
  const refusal = new PlatformError('quota_exceeded', {
    details: { ...quota, reset_date: resetWallMs === null ? null : new Date(resetWallMs).toISOString() },
    retryAfterSeconds,
  });
  const reset = Math.ceil(now.wallMs / 1_000) + retryAfterSeconds;
  return { figures: { limit: quota.limit, remaining: 0, reset }, refusal };
}
