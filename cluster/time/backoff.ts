import type { Random } from './time.js';

export interface Backoff {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** Doubles, with jitter over the upper half, so that peers that failed together do not retry together. */
export function backoffMs(attempt: number, backoff: Backoff, random: Random): number {
  const ceiling = Math.min(backoff.maxMs, backoff.baseMs * 2 ** Math.min(attempt, 30));
  return ceiling / 2 + random.fraction() * (ceiling / 2);
}
