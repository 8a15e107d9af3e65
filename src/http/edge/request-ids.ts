import type { Random } from '../../../cluster/index.js';

/**
 * Ids for requests that bring none: the first part is unique across processes and restarts, the number within the
 * process. They are names, not secrets, so they need no further randomness.
 */
export function requestIds(random: Random): () => string {
  const processPrefix = random.id().slice(0, 16);
  let number = 0;
  return () => `${processPrefix}-${(number += 1).toString(36)}`;
}
