import { actorOf, type Role, type TenantCaller, type TenantLimits } from '../kernel/caller.js';
import type { TenantScope } from '../kernel/tenant-scope.js';

/** The caller that reads or changes an agent, and its tenant. */
export interface Author {
  readonly scope: TenantScope;
  /** The name of the caller in audit entries. */
  readonly actor: string;
  /** The id of the user or the API key; null for the platform itself. */
  readonly id: string | null;
  readonly role: Role;
  readonly limits: TenantLimits;
}

export function authorOf(caller: TenantCaller): Author {
  const id = caller.kind === 'key' ? caller.keyId : caller.userId;
  return { scope: caller.scope, actor: actorOf(caller), id, role: caller.role, limits: caller.limits };
}

/** Members see only published agents, in their published version. Other roles see all working copies. */
export function seesDrafts(role: Role): boolean {
  return role !== 'member';
}
