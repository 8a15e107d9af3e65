import { createHash } from 'node:crypto';
import type { z } from 'zod';
import {
  patchedRetention,
  type Retention,
  retentionOf,
  type retentionPatch,
} from '../../kernel/retention.js';
import { changedFields, recordAudit } from '../audit/index.js';
import type { Plan, Role } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import { type TenantSettings, tenantSettings } from '../../kernel/plans/index.js';
import type { ChangeFeed, DirectoryTransaction, Store } from '../../infra/storage/index.js';
import { announceMembership, announceTenant, settled } from './changes.js';
import { insertMembership } from './memberships.store.js';
import type { NewTenants } from './new-tenants.js';
import { lockUser } from './new-tenants.store.js';
import type { SecretRandom } from './secrets.js';
import {
  changeTenant,
  claimSweep,
  findMadeBy,
  insertTenant,
  listTenants,
  lockOperatorRequests,
  lockTenant,
  lockTenantInDirectory,
  type NewTenantRequest,
  type OwnTenantRow,
  readTenant,
  type TenantChange,
  type TenantRow,
  tenantsOfUser,
  updatePlan,
  updateRetention,
} from './tenants.store.js';

export interface ClaimedSweep {
  readonly id: string;
  readonly retention: Retention;
  /** By the clock of PostgreSQL: what is older than its retention is counted from here. */
  readonly now: Date;
}

export interface Tenants {
  /**
   * Makes a tenant on plan `free` with the user as its owner. A repeat with the same `Idempotency-Key` within a day gets
   * the tenant that the first request made, under its first name.
   */
  create(
    userId: string,
    name: string,
    from: { readonly address: string; readonly idempotencyKey?: string | undefined },
  ): Promise<{ readonly tenant: OwnTenantRow; readonly isRepeat: boolean }>;
  listOf(userId: string): Promise<readonly OwnTenantRow[]>;
  read(scope: TenantScope, role: Role): Promise<OwnTenantRow>;
  /** Null removes the budget or restores the default; a missing field stays. In force when it returns. */
  change(scope: TenantScope, role: Role, change: ChangedTenant, actor: string): Promise<OwnTenantRow>;
  /** The tenant whose sweep this node shall do; null if none is due. */
  claimSweep(): Promise<ClaimedSweep | null>;
  /** All tenants of the installation: for the operator only. */
  listAll(): Promise<readonly TenantRow[]>;
  /** Makes a tenant without members: for the operator only. */
  createEmpty(name: string, plan: Plan, actor: string): Promise<TenantRow>;
  /** The same with an owner, if one is given. A repeat with the same `Idempotency-Key` gets the first tenant. */
  createByOperator(
    tenant: { readonly name: string; readonly plan: Plan; readonly ownerId?: string | undefined },
    actor: string,
    idempotencyKey?: string,
  ): Promise<{ readonly tenant: TenantRow; readonly isRepeat: boolean }>;
  /** Changes plan and own figures; null removes a figure, a missing field stays. In force when it returns. */
  setPlan(tenantId: string, change: PlanChange, actor: string): Promise<TenantRow>;
}

export interface ChangedTenant extends TenantChange {
  readonly retention?: z.output<typeof retentionPatch> | undefined;
}

export interface PlanChange {
  readonly plan?: Plan | undefined;
  readonly settings?:
    | {
        readonly [Name in keyof Omit<TenantSettings, 'budget' | 'model_aliases'>]?: number | null | undefined;
      }
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
  const createByOperator: Tenants['createByOperator'] = async (
    { name, plan, ownerId },
    actor,
    idempotencyKey,
  ) => {
    const request =
      idempotencyKey === undefined
        ? undefined
        : {
            // The tenants of a deleted user have no maker either; their keys are others than the operator's.
            key: digest(`operator ${idempotencyKey}`),
            body: digest(JSON.stringify([name, plan, ownerId ?? null])),
          };
    const { tenant, isRepeat, change } = await store.directory(async (tx) => {
      const known = await repeatOf(tx, null, request);
      if (known !== null) return { tenant: known, isRepeat: true, change: undefined };
      const made = await insertTenant(tx, { id: random.uuid(), name, plan, request });
      if (ownerId !== undefined)
        await insertMembership(tx, { tenantId: made.id, userId: ownerId, role: 'owner' });
      await recordAudit(tx, {
        tenantId: made.id,
        actor,
        action: 'tenant.created',
        subject: `tenant:${made.id}`,
        details: { plan, ...(ownerId !== undefined && { owner: ownerId }) },
        changes: changedFields(null, { name, plan }),
        targetName: name,
      });
      return {
        tenant: made,
        isRepeat: false,
        change: ownerId === undefined ? undefined : await announceMembership(tx, made.id, ownerId),
      };
    });
    await settled(changes, change);
    return { tenant, isRepeat };
  };

  return {
    async create(userId, name, { address, idempotencyKey }) {
      const request =
        idempotencyKey === undefined ? undefined : { key: digest(idempotencyKey), body: digest(name) };
      const { tenant, change } = await store.directory(async (tx) => {
        const known = await repeatOf(tx, userId, request);
        if (known !== null) return { tenant: { ...known, name }, change: undefined };
        await newTenants.checkUser(tx, userId);
        await newTenants.countForAddress(tx, address);
        const made = await insertTenant(tx, {
          id: random.uuid(),
          name,
          plan: 'free',
          madeBy: userId,
          request,
        });
        await insertMembership(tx, { tenantId: made.id, userId, role: 'owner' });
        await recordAudit(tx, {
          tenantId: made.id,
          actor: `user:${userId}`,
          action: 'tenant.created',
          subject: `tenant:${made.id}`,
          changes: changedFields(null, { name, plan: made.plan }),
          targetName: name,
        });
        return { tenant: made, change: await announceMembership(tx, made.id, userId) };
      });
      await settled(changes, change);
      return { tenant: { ...tenant, role: 'owner' }, isRepeat: change === undefined };
    },

    listOf: (userId) => store.directory((tx) => tenantsOfUser(tx, userId)),

    read: async (scope, role) => ({ ...(await store.inTenant(scope, readTenant)), role }),

    async change(scope, role, { name, budget, modelAliases, retention }, actor) {
      const { tenant, change } = await store.inTenant(scope, async (tx) => {
        if (retention !== undefined) {
          const before = await lockTenant(tx);
          await updateRetention(tx, patchedRetention(before.retention, retention));
        }
        const changed = await changeTenant(tx, { name, budget, modelAliases });
        await recordAudit(tx, {
          tenantId: scope.tenantId,
          actor,
          action: 'tenant.changed',
          subject: `tenant:${scope.tenantId}`,
          details: {
            ...(name !== undefined && { name }),
            ...(budget !== undefined && { budget }),
            ...(modelAliases !== undefined && { model_aliases: modelAliases }),
            ...(retention !== undefined && { retention: changed.retention }),
          },
        });
        return { tenant: changed, change: await announceTenant(tx, scope.tenantId) };
      });
      await settled(changes, change);
      return { ...tenant, role };
    },

    async claimSweep() {
      const claimed = await store.directory(claimSweep);
      return claimed === null ? null : { ...claimed, retention: retentionOf(claimed.retention) };
    },

    listAll: () => store.directory(listTenants),

    createEmpty: async (name, plan, actor) => (await createByOperator({ name, plan }, actor)).tenant,
    createByOperator,

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
          changes: changedFields(
            { plan: before.plan, settings: figuresIn(before.settings) },
            { plan: after.plan, settings: figuresIn(merged) },
          ),
          targetName: after.name,
        });
        return { tenant: after, change: await announceTenant(tx, tenantId) };
      });
      await settled(changes, change);
      return tenant;
    },
  };
}

/**
 * What an earlier request with the same key made; null if there is none. Of two at once the second waits for the first.
 * `userId`: null for the operator.
 */
async function repeatOf(
  tx: DirectoryTransaction,
  userId: string | null,
  request: NewTenantRequest | undefined,
): Promise<TenantRow | null> {
  if (userId !== null) await lockUser(tx, userId);
  if (request === undefined) return null;
  if (userId === null) await lockOperatorRequests(tx);
  const known = await findMadeBy(tx, userId, request.key);
  if (known !== null && !request.body.equals(known.request_body))
    throw new PlatformError('idempotency_key_reused');
  return known;
}

function mergedSettings(before: TenantSettings, patch: PlanChange['settings']): TenantSettings {
  // Budget and aliases are the tenant's own, not the operator's.
  if (patch === null) {
    const { budget, model_aliases } = before;
    return { ...(budget !== undefined && { budget }), ...(model_aliases !== undefined && { model_aliases }) };
  }
  const merged = Object.entries({ ...before, ...patch }).filter(
    ([, figure]) => figure !== null && figure !== undefined,
  );
  return tenantSettings.parse(Object.fromEntries(merged));
}

/** Without what the tenant sets itself, which has entries of its own. */
function figuresIn(settings: TenantSettings): object {
  const { budget: _budget, model_aliases: _aliases, ...figures } = settings;
  return figures;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
