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
 * Returns the approved destinations after a change by this role. Owners and admins approve by writing; an editor keeps
 * earlier approvals and may add only destinations that the secret itself allows. A missing secret is refused; an
 * existing one cannot be deleted before the transaction ends.
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
