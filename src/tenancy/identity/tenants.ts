import { recordAudit } from '../audit/index.js';
import type { Plan, Role } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import { type TenantSettings, tenantSettings } from '../../kernel/plans/index.js';
import type { ChangeFeed, Store } from '../../infra/storage/index.js';
import { announceMembership, announceTenant, settled } from './changes.js';
import { insertMembership } from './memberships.store.js';
import type { NewTenants } from './new-tenants.js';
import type { SecretRandom } from './secrets.js';
import {
  insertTenant,
  listTenants,
  lockTenantInDirectory,
  type OwnTenantRow,
  readTenant,
  renameTenant,
  type TenantRow,
  tenantsOfUser,
  updatePlan,
} from './tenants.store.js';

export interface Tenants {
  /** Makes a tenant on plan `free` with the user as its owner. */
  create(userId: string, name: string, address: string): Promise<OwnTenantRow>;
  listOf(userId: string): Promise<readonly OwnTenantRow[]>;
  read(scope: TenantScope, role: Role): Promise<OwnTenantRow>;
  rename(scope: TenantScope, role: Role, name: string, actor: string): Promise<OwnTenantRow>;
  /** All tenants of the installation: for the operator only. */
  listAll(): Promise<readonly TenantRow[]>;
  /** Makes a tenant without members: for the operator only. */
  createEmpty(name: string, plan: Plan, actor: string): Promise<TenantRow>;
  /** Changes plan and own figures; null removes a figure, a missing field stays. In force when it returns. */
  setPlan(tenantId: string, change: PlanChange, actor: string): Promise<TenantRow>;
}

export interface PlanChange {
  readonly plan?: Plan | undefined;
  readonly settings?:
    | { readonly [Name in keyof TenantSettings]?: number | null | undefined }
    | null
    | undefined;
}

export function createTenants(dependencies: {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly random: SecretRandom;
  readonly newTenants: NewTenants;
}): Tenants {
  const { store, changes, random, newTenants } = dependencies;
  return {
    async create(userId, name, address) {
      const { tenant, change } = await store.directory(async (tx) => {
        await newTenants.checkUser(tx, userId);
        await newTenants.countForAddress(tx, address);
        const made = await insertTenant(tx, { id: random.uuid(), name, plan: 'free', madeBy: userId });
        await insertMembership(tx, { tenantId: made.id, userId, role: 'owner' });
        await recordAudit(tx, {
          tenantId: made.id,
          actor: `user:${userId}`,
          action: 'tenant.created',
          subject: `tenant:${made.id}`,
        });
        return { tenant: made, change: await announceMembership(tx, made.id, userId) };
      });
      await settled(changes, change);
      return { ...tenant, role: 'owner' };
    },

    listOf: (userId) => store.directory((tx) => tenantsOfUser(tx, userId)),

    read: async (scope, role) => ({ ...(await store.inTenant(scope, readTenant)), role }),

    async rename(scope, role, name, actor) {
      const { tenant, change } = await store.inTenant(scope, async (tx) => {
        const renamed = await renameTenant(tx, name);
        await recordAudit(tx, {
          tenantId: scope.tenantId,
          actor,
          action: 'tenant.renamed',
          subject: `tenant:${scope.tenantId}`,
          details: { name },
        });
        return { tenant: renamed, change: await announceTenant(tx, scope.tenantId) };
      });
      await settled(changes, change);
      return { ...tenant, role };
    },

    listAll: () => store.directory(listTenants),

    createEmpty: (name, plan, actor) =>
      store.directory(async (tx) => {
        const tenant = await insertTenant(tx, { id: random.uuid(), name, plan });
        await recordAudit(tx, {
          tenantId: tenant.id,
          actor,
          action: 'tenant.created',
          subject: `tenant:${tenant.id}`,
          details: { plan },
        });
        return tenant;
      }),

    async setPlan(tenantId, { plan, settings }, actor) {
      const { tenant, change } = await store.directory(async (tx) => {
        const before = await lockTenantInDirectory(tx, tenantId);
        if (before === null) throw new PlatformError('tenant_not_found');
        const merged = mergedSettings(before.settings, settings);
        const after = await updatePlan(tx, tenantId, plan ?? before.plan, merged);
        await recordAudit(tx, {
          tenantId,
          actor,
          action: 'tenant.plan-changed',
          subject: `tenant:${tenantId}`,
          details: { from: before.plan, to: after.plan, settings: merged },
        });
        return { tenant: after, change: await announceTenant(tx, tenantId) };
      });
      await settled(changes, change);
      return tenant;
    },
  };
}

function mergedSettings(before: TenantSettings, patch: PlanChange['settings']): TenantSettings {
  if (patch === null) return {};
  const merged = Object.entries({ ...before, ...patch }).filter(
    ([, figure]) => figure !== null && figure !== undefined,
  );
  return tenantSettings.parse(Object.fromEntries(merged));
}
