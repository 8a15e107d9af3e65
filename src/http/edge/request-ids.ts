import { randomBytes } from 'node:crypto';

/**
 * Ids for requests that bring none: the first part is unique across processes and restarts, the number within the
 * process. They are names, not secrets, so they need no further randomness.
 */
export function requestIds(): () => string {
  const processPrefix = randomBytes(8).toString('hex');
  let number = 0;
  return () => `${processPrefix}-${(number += 1).toString(36)}`;
}
