import type { Caller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import { allows, type Credentials, lacksPermission, type Operation } from '../operations/index.js';

/** A key belongs to one tenant; a tenant in the request must be the same. Refused requests of a key count too. */
export function refuseOtherTenant({ tenantId }: Credentials, caller: Caller): void {
  if (caller.kind !== 'key' || tenantId === undefined) return;
  if (tenantId.toLowerCase() !== caller.scope.tenantId) throw new PlatformError('tenant_not_found');
}

export function withoutPermission({ access }: Operation, caller: Caller): PlatformError | undefined {
  const { permission } = access;
  if (permission === null || !('role' in caller) || allows(caller.role, permission)) return undefined;
  return lacksPermission(caller.role, permission);
}
