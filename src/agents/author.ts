import { actorOf, type Role, type TenantCaller } from '../kernel/caller.js';
import type { TenantScope } from '../kernel/tenant-scope.js';

/** Who reads or changes an agent, and in which tenant. */
export interface Author {
  readonly scope: TenantScope;
  /** As audit entries name it. */
  readonly actor: string;
  /** Of the user, or of the key; null for the platform itself. */
  readonly id: string | null;
  readonly role: Role;
}

export function authorOf(caller: TenantCaller): Author {
  const id = caller.kind === 'key' ? caller.keyId : caller.userId;
  return { scope: caller.scope, actor: actorOf(caller), id, role: caller.role };
}

/** Members see published agents alone, and of those what runs; the others see the working copies of all. */
export function seesDrafts(role: Role): boolean {
  return role !== 'member';
}
