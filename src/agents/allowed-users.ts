import { PlatformError } from '../kernel/errors.js';
import type { LiveAgent } from './live-agents.js';

/** Throws if the agent is for other users. `userId` is undefined for a caller that is no user. */
export function requireAllowedUser(
  { allowedUsers }: Pick<LiveAgent, 'allowedUsers'>,
  userId: string | undefined,
): void {
  if (allowedUsers.size === 0 || (userId !== undefined && allowedUsers.has(userId))) return;
  throw new PlatformError('insufficient_permissions', {
    message: 'This agent is not available to this user. Ask an admin to add the user to its allowed users.',
  });
}
