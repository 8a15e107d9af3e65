import type { Surroundings } from './surroundings.js';

const firstMs = 300;
const longestMs = 8_000;

/**
 * The wait before the attempt after `failures` failed ones: doubled each time, between half and the whole of it, so that
 * clients that lost one node do not all come back at once.
 */
export function backoffMs({ random }: Pick<Surroundings, 'random'>, failures: number): number {
  const most = Math.min(longestMs, firstMs * 2 ** Math.max(0, failures - 1));
  return most * (0.5 + random() / 2);
}
