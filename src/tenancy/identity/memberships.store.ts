import { z } from 'zod';
import { roles } from '../../kernel/caller.js';
import { plans, tenantSettings } from '../../kernel/plans/index.js';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

const membershipRow = z.object({
  tenant_id: z.string(),
  role: z.enum(roles),
  plan: z.enum(plans),
  settings: tenantSettings,
  suspended: z.boolean(),
});

export type MembershipRow = z.output<typeof membershipRow>;

export function findMembership(
  tx: DirectoryTransaction,
  userId: string,
  tenantId: string,
): Promise<MembershipRow | null> {
  return tx.maybeOne(
    sql.type(membershipRow)`
      select m.tenant_id, m.role, t.plan, t.settings, t.suspended_at is not null as suspended
      from memberships m join tenants t on t.id = m.tenant_id
      where m.tenant_id = ${tenantId} and m.user_id = ${userId} and t.deleting_at is null`,
  );
}

const tenantRow = membershipRow.omit({ role: true });

export type WorkingTenantRow = z.output<typeof tenantRow>;

/** A tenant that is being deleted works no more than a suspended one. */
export function findTenant(tx: DirectoryTransaction, tenantId: string): Promise<WorkingTenantRow | null> {
  return tx.maybeOne(
    sql.type(tenantRow)`
      select id as tenant_id, plan, settings, suspended_at is not null or deleting_at is not null as suspended
      from tenants where id = ${tenantId}`,
  );
}

/** Returns at most two: enough to tell whether there is exactly one. */
export function findFirstMemberships(
  tx: DirectoryTransaction,
  userId: string,
): Promise<readonly MembershipRow[]> {
  return tx.any(
    sql.type(membershipRow)`
      select m.tenant_id, m.role, t.plan, t.settings, t.suspended_at is not null as suspended
      from memberships m join tenants t on t.id = m.tenant_id
      where m.user_id = ${userId} and t.deleting_at is null
      limit 2`,
  );
}

const tenantIdRow = z.object({ tenant_id: z.string() });

/** The ids of the tenants that a user belongs to. */
export async function tenantIdsOf(tx: DirectoryTransaction, userId: string): Promise<readonly string[]> {
  const rows = await tx.any(
    sql.type(tenantIdRow)`
      select m.tenant_id from memberships m join tenants t on t.id = m.tenant_id
      where m.user_id = ${userId} and t.deleting_at is null`,
  );
  return rows.map(({ tenant_id: id }) => id);
}

export async function insertMembership(
  tx: DirectoryTransaction,
  membership: { readonly tenantId: string; readonly userId: string; readonly role: string },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    sql.typeAlias('nothing')`
      insert into memberships (tenant_id, user_id, role)
      values (${membership.tenantId}, ${membership.userId}, ${membership.role})
      on conflict do nothing`,
  );
  return rowCount === 1;
}
