import { randomBytes } from 'node:crypto';

/**
 * Ids for requests that bring none: unique across processes and restarts by their first part, within one by their
 * number. They are names, not secrets, so they need no randomness of their own.
 */
export function requestIds(): () => string {
  const ofProcess = randomBytes(8).toString('hex');
  let number = 0;
  return () => `${ofProcess}-${(number += 1).toString(36)}`;
}
