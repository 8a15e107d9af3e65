import type { DirectoryTransaction } from '../../infra/storage/index.js';

/** Who may register an account, by `TROUPE_REGISTRATION`. */
export interface RegistrationRule {
  readonly policy: 'open' | 'invite' | 'closed';
  /** Whether the address has a pending invitation; the invitations belong to a subject above this one. */
  readonly hasInvite: (tx: DirectoryTransaction, email: string, now: Date) => Promise<boolean>;
}
