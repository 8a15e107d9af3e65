import type { DirectoryTransaction } from '../../infra/storage/index.js';

export const registrationPolicies = ['open', 'invite', 'closed'] as const;

/** Who may register an account, by `TROUPE_REGISTRATION`. */
export interface RegistrationRule {
  readonly policy: (typeof registrationPolicies)[number];
  /** Whether the address has a pending invitation; the invitations belong to a subject above this one. */
  readonly hasInvite: (tx: DirectoryTransaction, email: string, now: Date) => Promise<boolean>;
}
