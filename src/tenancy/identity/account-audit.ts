import type { FieldChanges } from '../../kernel/audit-context.js';
import type { DirectoryTransaction } from '../../infra/storage/index.js';
import { recordAccountAudit } from '../audit/index.js';
import { tenantIdsOf } from './memberships.store.js';

export interface AccountEntry {
  readonly action: string;
  /** Default: the user. */
  readonly actor?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly changes?: FieldChanges;
}

/** Records an act on an account, for the platform and in each tenant that the user belongs to at this moment. */
export async function auditAccount(
  tx: DirectoryTransaction,
  userId: string,
  entry: AccountEntry,
): Promise<void> {
  const user = `user:${userId}`;
  await recordAccountAudit(tx, await tenantIdsOf(tx, userId), { actor: user, ...entry, subject: user });
}

export const addressProved: FieldChanges = { email_verified: { old: false, new: true } };
