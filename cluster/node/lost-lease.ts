import type { Membership } from '../membership/membership.js';

/**
 * Calls `onFenced` once the lease is lost for good and released, so that successors need not wait for a process that it may
 * end. Also if the lease was lost before: while a node starts, it is a member already, and nobody else would end the process.
 * To be called after the node's own listeners were added, which end its actors.
 */
export function whenLeaseLost(membership: Membership, onFenced: () => void): void {
  const lost = (): void => void membership.leave().finally(onFenced);
  if (membership.standing() === 'fenced') lost();
  else membership.onFenced(lost);
}
