/** Tenants and users across the installation, for the operator alone. */
import { z } from 'zod';
import { roles } from '../../kernel/caller.js';
import type { Position } from '../../http/operations/index.js';
import { plans, tenantSettings } from '../../kernel/plans/index.js';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

export const tenantStatuses = ['active', 'suspended', 'deleting'] as const;
export type TenantStatus = (typeof tenantStatuses)[number];

const overview = z.object({
  id: z.string(),
  name: z.string(),
  plan: z.enum(plans),
  settings: tenantSettings,
  created_at: z.date(),
  suspended_at: z.date().nullable(),
  suspend_reason: z.string().nullable(),
  status: z.enum(tenantStatuses),
  members: z.number(),
});
export type TenantOverview = z.output<typeof overview>;

export interface TenantFilter {
  /** A part of the name in any case, or the id. */
  readonly search?: string | undefined;
  readonly plan?: string | undefined;
  readonly status?: TenantStatus | undefined;
}

// A cursor holds milliseconds, so the order must not depend on more.
const createdAt = sql.fragment`date_trunc('milliseconds', t.created_at)`;

const statusOf = sql.fragment`case when t.deleting_at is not null then 'deleting'
  when t.suspended_at is not null then 'suspended' else 'active' end`;

const columns = sql.fragment`t.id, t.name, t.plan, t.settings, ${createdAt} as created_at, t.suspended_at, t.suspend_reason,
  ${statusOf} as status,
  (select count(*)::int8 from memberships m where m.tenant_id = t.id) as members`;

/** Newest first. */
export function listOverviews(
  tx: DirectoryTransaction,
  { search, plan, status }: TenantFilter,
  page: { readonly after: Position | undefined; readonly rows: number },
): Promise<readonly TenantOverview[]> {
  const { after, rows } = page;
  return tx.any(sql.type(overview)`
    select ${columns} from tenants t
    where (${search ?? null}::text is null or t.id::text = lower(${search ?? null})
        or position(lower(${search ?? null}) in lower(t.name)) > 0)
      and (${plan ?? null}::text is null or t.plan = ${plan ?? null})
      and (${status ?? null}::text is null or ${statusOf} = ${status ?? null})
      and (${after?.id ?? null}::uuid is null
        or (${createdAt}, t.id) < (${after?.at.toISOString() ?? null}::timestamptz, ${after?.id ?? null}::uuid))
    order by ${createdAt} desc, t.id desc
    limit ${rows}`);
}

export function findOverview(tx: DirectoryTransaction, tenantId: string): Promise<TenantOverview | null> {
  return tx.maybeOne(sql.type(overview)`select ${columns} from tenants t where t.id = ${tenantId}`);
}

/** Keeps the time of the first suspension. False if the tenant does not exist. */
export async function markSuspended(
  tx: DirectoryTransaction,
  tenantId: string,
  reason: string,
  at: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update tenants set suspended_at = coalesce(suspended_at, ${sql.timestamp(at)}), suspend_reason = ${reason}
    where id = ${tenantId} and deleting_at is null`);
  return rowCount === 1;
}

export async function markResumed(tx: DirectoryTransaction, tenantId: string): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update tenants set suspended_at = null, suspend_reason = null
    where id = ${tenantId} and deleting_at is null`);
  return rowCount === 1;
}

const account = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string().nullable(),
  created_at: z.date(),
  disabled: z.boolean(),
  email_verified: z.boolean(),
  tenants: z.array(z.object({ id: z.uuid(), name: z.string(), role: z.enum(roles) })),
});
export type AccountOverview = z.output<typeof account>;

const joinedAt = sql.fragment`date_trunc('milliseconds', u.created_at)`;

const accountColumns = sql.fragment`u.id, u.email, u.name, ${joinedAt} as created_at,
  u.disabled_at is not null as disabled, u.email_verified_at is not null as email_verified,
  (select coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'name', t.name, 'role', m.role)
      order by m.created_at, t.id), '[]'::jsonb)
    from memberships m join tenants t on t.id = m.tenant_id where m.user_id = u.id) as tenants`;

/** Newest first, without deleted accounts. `search`: a part of the address or the name in any case, or the id. */
export function listAccounts(
  tx: DirectoryTransaction,
  search: string | undefined,
  { after, rows }: { readonly after: Position | undefined; readonly rows: number },
): Promise<readonly AccountOverview[]> {
  return tx.any(sql.type(account)`
    select ${accountColumns} from users u
    where u.deleted_at is null
      and (${search ?? null}::text is null or u.id::text = lower(${search ?? null})
        or position(lower(${search ?? null}) in lower(u.email)) > 0
        or position(lower(${search ?? null}) in lower(u.name)) > 0)
      and (${after?.id ?? null}::uuid is null
        or (${joinedAt}, u.id) < (${after?.at.toISOString() ?? null}::timestamptz, ${after?.id ?? null}::uuid))
    order by ${joinedAt} desc, u.id desc
    limit ${rows}`);
}

export function findAccount(tx: DirectoryTransaction, userId: string): Promise<AccountOverview | null> {
  return tx.maybeOne(sql.type(account)`
    select ${accountColumns} from users u where u.id = ${userId} and u.deleted_at is null`);
}

/** The names of tenants, for reports. */
export async function namesOfTenants(
  tx: DirectoryTransaction,
  tenantIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.any(sql.type(z.object({ id: z.string(), name: z.string() }))`
    select id, name from tenants where id = any(${sql.array([...tenantIds], 'uuid')})`);
  return new Map(rows.map(({ id, name }) => [id, name]));
}
