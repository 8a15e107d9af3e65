import type { Role } from '../../../kernel/caller.js';
import { invalidField } from '../../../kernel/errors.js';
import type { TenantTransaction } from '../../../infra/storage/index.js';
import {
  allowsPlace,
  approvalOf,
  approves,
  type Destination,
  isApproved,
  mayNotSend,
  type Vault,
} from '../../../tenancy/vault/index.js';

/**
 * What is approved once somebody of this role has written these destinations. Owners and admins approve by writing; an
 * editor keeps what was approved before, and may add only what the secret allows by itself. A secret that is not there
 * is refused, and one that is cannot be deleted before the transaction ends.
 */
export async function approvedDestinations(
  vault: Pick<Vault, 'keep'>,
  tx: TenantTransaction,
  role: Role,
  destinations: readonly Destination[],
  before: readonly string[],
): Promise<string[]> {
  const approved: string[] = [];
  for (const destination of destinations) {
    const secret = await vault.keep(tx, destination.secret);
    if (secret === undefined) throw invalidField(destination.field, 'names a secret that does not exist');
    const approval = approvalOf(destination);
    if (approves(role) || isApproved(before, destination)) approved.push(approval);
    else if (!allowsPlace(secret.allowedHosts, destination)) throw mayNotSend(destination);
  }
  return approved;
}
