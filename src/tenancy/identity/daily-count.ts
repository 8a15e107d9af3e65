// Counts of a day (UTC) by the hash of what is counted, which itself is not needed.
import { createHash } from 'node:crypto';
import { type PlatformError, tooManyRequests } from '../../kernel/errors.js';

const dayMs = 86_400_000;

export function subjectOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** Thrown in the transaction that counted: its rollback also undoes the count. */
export function tooManyToday(limit: number, nowMs: number, message: string): PlatformError {
  return tooManyRequests(limit, {
    atMs: (Math.floor(nowMs / dayMs) + 1) * dayMs,
    nowMs,
    message: `${message} Try again after the seconds of Retry-After.`,
  });
}
