import { z } from 'zod';
import { type Plan, roles } from '../../kernel/caller.js';
import { plans, type TenantSettings, tenantSettings } from '../../kernel/plans/index.js';
import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';

const tenantRow = z.object({
  id: z.string(),
  name: z.string(),
  plan: z.enum(plans),
  settings: tenantSettings,
  created_at: z.date(),
});

export type TenantRow = z.output<typeof tenantRow>;

const ownTenantRow = tenantRow.extend({ role: z.enum(roles) });

export type OwnTenantRow = z.output<typeof ownTenantRow>;

const columns = sql.fragment`id, name, plan, settings, created_at`;

export function insertTenant(
  tx: DirectoryTransaction,
  tenant: { readonly id: string; readonly name: string; readonly plan: Plan; readonly madeBy?: string },
): Promise<TenantRow> {
  return tx.one(
    sql.type(tenantRow)`
      insert into tenants (id, name, plan, made_by)
      values (${tenant.id}, ${tenant.name}, ${tenant.plan}, ${tenant.madeBy ?? null})
      returning ${columns}`,
  );
}

/** Oldest membership first. */
export function tenantsOfUser(tx: DirectoryTransaction, userId: string): Promise<readonly OwnTenantRow[]> {
  return tx.any(
    sql.type(ownTenantRow)`
      select t.id, t.name, t.plan, t.settings, t.created_at, m.role
      from memberships m join tenants t on t.id = m.tenant_id
      where m.user_id = ${userId}
      order by m.created_at, t.id`,
  );
}

export function listTenants(tx: DirectoryTransaction): Promise<readonly TenantRow[]> {
  return tx.any(sql.type(tenantRow)`select ${columns} from tenants order by created_at, id`);
}

/** Locks the tenant, because the next write merges with what was read. */
export function lockTenantInDirectory(tx: DirectoryTransaction, tenantId: string): Promise<TenantRow | null> {
  return tx.maybeOne(sql.type(tenantRow)`select ${columns} from tenants where id = ${tenantId} for update`);
}

export function updatePlan(
  tx: DirectoryTransaction,
  tenantId: string,
  plan: Plan,
  settings: TenantSettings,
): Promise<TenantRow> {
  return tx.one(
    sql.type(tenantRow)`
      update tenants set plan = ${plan}, settings = ${sql.jsonb(settings)} where id = ${tenantId}
      returning ${columns}`,
  );
}

export function readTenant(tx: TenantTransaction): Promise<TenantRow> {
  return tx.one(sql.type(tenantRow)`select ${columns} from tenants where id = ${tx.scope.tenantId}`);
}

export function renameTenant(tx: TenantTransaction, name: string): Promise<TenantRow> {
  return tx.one(
    sql.type(tenantRow)`
      update tenants set name = ${name} where id = ${tx.scope.tenantId} returning ${columns}`,
  );
}

const planOfTenant = tenantRow.pick({ name: true, plan: true, settings: true });
export type PlanOfTenant = z.output<typeof planOfTenant>;

/** Null if the tenant was deleted. */
export function findPlan(tx: TenantTransaction): Promise<PlanOfTenant | null> {
  return tx.maybeOne(
    sql.type(planOfTenant)`select name, plan, settings from tenants where id = ${tx.scope.tenantId}`,
  );
}
