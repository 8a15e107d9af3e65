import { z } from 'zod';
import type { Budget } from '../../kernel/budget.js';
import type { ModelAliases } from '../../kernel/model-aliases.js';
import { type StoredRetention, storedRetention } from '../../kernel/retention.js';
import { type Plan, roles } from '../../kernel/caller.js';
import { plans, type TenantSettings, tenantSettings } from '../../kernel/plans/index.js';
import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';

const tenantRow = z.object({
  id: z.string(),
  name: z.string(),
  plan: z.enum(plans),
  settings: tenantSettings,
  created_at: z.date(),
  retention: storedRetention,
});

export type TenantRow = z.output<typeof tenantRow>;

const ownTenantRow = tenantRow.extend({ role: z.enum(roles) });

export type OwnTenantRow = z.output<typeof ownTenantRow>;

const columns = sql.fragment`id, name, plan, settings, created_at, retention`;

export function insertTenant(
  tx: DirectoryTransaction,
  tenant: {
    readonly id: string;
    readonly name: string;
    readonly plan: Plan;
    readonly madeBy?: string;
    readonly request?: NewTenantRequest | undefined;
  },
): Promise<TenantRow> {
  const { key = null, body = null } = tenant.request ?? {};
  return tx.one(
    sql.type(tenantRow)`
      insert into tenants (id, name, plan, made_by, request_key, request_body)
      values (${tenant.id}, ${tenant.name}, ${tenant.plan}, ${tenant.madeBy ?? null},
        ${key === null ? null : sql.binary(key)}, ${body === null ? null : sql.binary(body)})
      returning ${columns}`,
  );
}

/** The hashes of a request with an `Idempotency-Key`. */
export interface NewTenantRequest {
  readonly key: Buffer;
  readonly body: Buffer;
}

const repeated = sql.type(tenantRow.extend({ request_body: z.instanceof(Uint8Array) }));

/**
 * The tenant that the user made by a request with this key in the last 24 hours; with null, the operator. Older keys are
 * free again, and those of tenants that are being deleted.
 */
export async function findMadeBy(tx: DirectoryTransaction, userId: string | null, key: Buffer) {
  const made = userId === null ? sql.fragment`made_by is null` : sql.fragment`made_by = ${userId}`;
  await tx.query(sql.typeAlias('nothing')`
    update tenants set request_key = null, request_body = null
    where ${made} and request_key is not null
      and (created_at <= now() - interval '24 hours' or deleting_at is not null)`);
  return tx.maybeOne(repeated`
    select ${columns}, request_body from tenants
    where ${made} and request_key = ${sql.binary(key)}`);
}

/** Of two requests of the operator with a key the second waits here, and finds what the first made. */
export async function lockOperatorRequests(tx: DirectoryTransaction): Promise<void> {
  await tx.query(sql.unsafe`select pg_advisory_xact_lock(hashtextextended('tenants of the operator', 0))`);
}

/** Oldest membership first. */
export function tenantsOfUser(tx: DirectoryTransaction, userId: string): Promise<readonly OwnTenantRow[]> {
  return tx.any(
    sql.type(ownTenantRow)`
      select t.id, t.name, t.plan, t.settings, t.created_at, t.retention, m.role
      from memberships m join tenants t on t.id = m.tenant_id
      where m.user_id = ${userId} and t.deleting_at is null
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

export interface TenantChange {
  readonly name?: string | undefined;
  /** Null removes it. */
  readonly budget?: Budget | null | undefined;
  /** All of them; null removes them. */
  readonly modelAliases?: ModelAliases | null | undefined;
}

/** In one statement, so that an operator's change of the other settings at the same time is kept. */
export function changeTenant(
  tx: TenantTransaction,
  { name, budget, modelAliases }: TenantChange,
): Promise<TenantRow> {
  const removed = [
    ...(budget === null ? ['budget'] : []),
    ...(modelAliases === null ? ['model_aliases'] : []),
  ];
  const set = {
    ...(budget != null && { budget }),
    ...(modelAliases != null && { model_aliases: modelAliases }),
  };
  const settings = sql.fragment`(settings - ${sql.array(removed, 'text')}) || ${sql.jsonb(set)}`;
  return tx.one(
    sql.type(tenantRow)`
      update tenants set name = coalesce(${name ?? null}, name), settings = ${settings}
      where id = ${tx.scope.tenantId} returning ${columns}`,
  );
}

export function lockTenant(tx: TenantTransaction): Promise<TenantRow> {
  return tx.one(
    sql.type(tenantRow)`select ${columns} from tenants where id = ${tx.scope.tenantId} for update`,
  );
}

export function updateRetention(tx: TenantTransaction, retention: StoredRetention): Promise<TenantRow> {
  return tx.one(
    sql.type(tenantRow)`
      update tenants set retention = ${sql.jsonb(retention)} where id = ${tx.scope.tenantId} returning ${columns}`,
  );
}

const sweptTenant = z.object({ id: z.string(), retention: storedRetention, now: z.date() });

/**
 * Claims the sweep of the tenant that waits longest, for one hour; null if none is due. `now` is the time of PostgreSQL:
 * a node whose clock is ahead would delete what tenants still keep. A claim in the future was made by such a clock, of a
 * node of an earlier release, and holds nobody.
 */
export function claimSweep(tx: DirectoryTransaction): Promise<z.output<typeof sweptTenant> | null> {
  return tx.maybeOne(
    sql.type(sweptTenant)`
      update tenants set swept_at = now() where id = (
        select id from tenants
        where (swept_at < now() - interval '1 hour' or swept_at > now() + interval '1 hour') and deleting_at is null
        order by swept_at limit 1 for update skip locked)
      returning id, retention, swept_at as now`,
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
