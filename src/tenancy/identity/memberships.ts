import { recentEntries } from '../../kernel/recent-entries.js';
import { isUuid } from '../../kernel/uuid.js';
import type { Role, TenantLimits } from '../../kernel/caller.js';
import { type TenantScope, tenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import { limitsOf } from '../../kernel/plans/index.js';
import type { Store } from '../../infra/storage/index.js';
import { findFirstMemberships, findMembership, findTenant, type MembershipRow } from './memberships.store.js';

/** A user's role and rights in a tenant. Every user's access to a tenant's data starts here. */
export interface Membership {
  readonly scope: TenantScope;
  readonly role: Role;
  readonly limits: TenantLimits;
}

/** A tenant for which the platform works without a caller: a webhook, a schedule, a running turn. */
export interface TenantAtWork {
  readonly scope: TenantScope;
  readonly limits: TenantLimits;
  readonly suspended: boolean;
}

/** In memory, a suspended tenant's membership is kept too, so that its refusals cost no query. */
interface Known extends Membership {
  readonly suspended: boolean;
}

export interface Memberships {
  /**
   * Returns without a promise if the membership is in memory. A missing tenant and a tenant without this user get the same
   * refusal; a suspended tenant is `tenant_suspended`. Without a tenant id the user's only tenant is used.
   */
  of(
    userId: string,
    tenantId: string | undefined,
    /** Called before the store is asked; its error refuses the request. */
    beforeCheck?: () => void,
  ): Membership | Promise<Membership>;
  /** For work whose row names the tenant. Undefined if the tenant is gone. */
  tenantAtWork(tenantId: string): TenantAtWork | undefined | Promise<TenantAtWork | undefined>;
  dropMember(userId: string, tenantId: string): void;
  dropTenant(tenantId: string): void;
  dropAll(): void;
}

const entriesMax = 50_000;

export function createMemberships(store: Store, isFresh: () => boolean): Memberships {
  /** By user and tenant; an empty tenant id stands for the user's only tenant. */
  const entries = recentEntries<Known>(entriesMax);
  const tenants = recentEntries<TenantAtWork>(entriesMax);
  let drops = 0;

  async function load(userId: string, tenantId: string): Promise<Membership> {
    const dropsBefore = drops;
    const row = await store.directory((tx) =>
      tenantId === '' ? onlyMembership(tx, userId) : findMembership(tx, userId, tenantId),
    );
    if (row === null) throw new PlatformError('tenant_not_found');
    const membership = membershipFrom(row);
    // A change during the query may be missing from its result.
    if (drops === dropsBefore && isFresh()) entries.set(`${userId} ${tenantId}`, membership);
    return served(membership);
  }

  async function loadTenant(tenantId: string): Promise<TenantAtWork | undefined> {
    const dropsBefore = drops;
    const row = await store.directory((tx) => findTenant(tx, tenantId));
    if (row === null) return undefined;
    const tenant = {
      scope: tenantScope(row.tenant_id),
      limits: limitsOf(row.plan, row.settings),
      suspended: row.suspended,
    };
    if (drops === dropsBefore && isFresh()) tenants.set(tenantId, tenant);
    return tenant;
  }

  return {
    tenantAtWork(tenantId) {
      const known = tenants.get(tenantId);
      return known !== undefined && isFresh() ? known : loadTenant(tenantId);
    },

    of(userId, tenantId, beforeCheck) {
      if (tenantId !== undefined && !isUuid(tenantId)) throw new PlatformError('tenant_not_found');
      const tenant = tenantId?.toLowerCase() ?? '';
      const known = entries.get(`${userId} ${tenant}`);
      if (known !== undefined && isFresh()) return served(known);
      beforeCheck?.();
      return load(userId, tenant);
    },

    dropMember(userId, tenantId) {
      drops += 1;
      entries.delete(`${userId} ${tenantId}`);
      // The user's only tenant may have changed.
      entries.delete(`${userId} `);
    },

    dropTenant(tenantId) {
      drops += 1;
      tenants.delete(tenantId);
      const keys = [...entries.entries()].filter(([, { scope }]) => scope.tenantId === tenantId);
      for (const [key] of keys) entries.delete(key);
    },

    dropAll() {
      drops += 1;
      entries.clear();
      tenants.clear();
    },
  };
}

async function onlyMembership(
  tx: Parameters<typeof findFirstMemberships>[0],
  userId: string,
): Promise<MembershipRow> {
  const [only, another] = await findFirstMemberships(tx, userId);
  if (only === undefined || another !== undefined) throw headerMissing();
  return only;
}

function served(membership: Known): Membership {
  if (membership.suspended) throw new PlatformError('tenant_suspended');
  return membership;
}

function membershipFrom(row: MembershipRow): Known {
  return {
    scope: tenantScope(row.tenant_id),
    role: row.role,
    limits: limitsOf(row.plan, row.settings),
    suspended: row.suspended,
  };
}

function headerMissing(): PlatformError {
  return new PlatformError('missing_tenant', {
    message: 'The header x-tenant-id is required, because you are a member of several tenants or of none.',
    details: { field: 'x-tenant-id', issue: 'required' },
  });
}
