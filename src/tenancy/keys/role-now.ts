import { isAbove, type KeyCaller, type Role } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import { allows, lacksPermission } from '../../http/operations/index.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import { holdTenant, type RoleNow, roleOfUser } from '../identity/index.js';
import { holdKey } from './keys.store.js';

/** Here, because keys know of members and not the other way round. */
export const roleNow: RoleNow = async (tx, caller, permission, now) => {
  await holdTenant(tx);
  if (caller.expiresAtMs !== undefined && caller.expiresAtMs <= now.getTime())
    throw new PlatformError('invalid_token');
  const held = caller.kind === 'key' ? await roleOfKey(tx, caller, now) : await roleOfUser(tx, caller);
  // A request may have asked for less than its caller has (`X-MCP-Role`).
  const role = isAbove(held, caller.role) ? caller.role : held;
  if (!allows(role, permission)) throw lacksPermission(role, permission);
  return role;
};

async function roleOfKey(tx: TenantTransaction, caller: KeyCaller, now: Date): Promise<Role> {
  const key = await holdKey(tx, caller.keyId);
  const isValid =
    key !== null && key.revoked_at === null && (key.expires_at === null || key.expires_at > now);
  if (isValid) return key.role;
  // Only an access token that acts as a key expires by itself.
  throw new PlatformError(caller.expiresAtMs === undefined ? 'invalid_api_key' : 'invalid_token');
}
