import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type JsonObject, type Position } from '../../http/operations/index.js';
import { plans, tenantSettings } from '../../kernel/plans/index.js';
import {
  type FoundPage,
  foundPage,
  type HotReads,
  type HotStatement,
  listBytesMax,
  pageRows,
  sql,
  type TenantTransaction,
  withinTextBytes,
} from '../../infra/storage/index.js';
import { triggerTypes, type TriggerType } from './types/registry.js';

const triggerRow = z.object({
  id: z.uuid(),
  agent_id: z.uuid(),
  name: z.string(),
  trigger_type: z.enum(triggerTypes),
  config: z.record(z.string(), z.unknown()),
  enabled: z.boolean(),
  first_enabled_at: z.date().nullable(),
  revision: z.number(),
  approved: z.array(z.string()),
  secret_id: z.uuid().nullable(),
  former_secret_until: z.date().nullable(),
  created_by: z.uuid().nullable(),
  created_at: z.date(),
  updated_at: z.date(),
});

export type TriggerRow = z.output<typeof triggerRow>;

const listedRow = triggerRow.extend({ text_bytes: z.number(), ...pageRows });

export type ListedTriggerRow = z.output<typeof listedRow>;

const columns = sql.fragment`
  id, agent_id, name, trigger_type, config, enabled, first_enabled_at, revision, approved, secret_id,
  former_secret_until, created_by, created_at, updated_at`;

export interface NewTrigger {
  readonly id: string;
  readonly agentId: string;
  readonly name: string;
  readonly type: TriggerType;
  readonly config: JsonObject;
  readonly approved: readonly string[];
  readonly secrets: readonly string[];
  readonly secretId: string | null;
  readonly createdBy: string | null;
}

export function insertTrigger(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  trigger: NewTrigger,
): Promise<TriggerRow> {
  return tx.one(sql.type(triggerRow)`
    insert into triggers (tenant_id, id, agent_id, name, trigger_type, config, first_enabled_at, approved, secrets,
      secret_id, created_by)
    values (${tenantId}, ${trigger.id}, ${trigger.agentId}, ${trigger.name}, ${trigger.type},
      ${JSON.stringify(trigger.config)}::jsonb, now(), ${sql.array([...trigger.approved], 'text')},
      ${sql.array([...trigger.secrets], 'text')}, ${trigger.secretId}, ${trigger.createdBy})
    returning ${columns}`);
}

export function findTrigger(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<TriggerRow | null> {
  return tx.maybeOne(sql.type(triggerRow)`
    select ${columns} from triggers where tenant_id = ${tenantId} and id = ${id}`);
}

/** Locks the trigger row until the transaction ends. */
export function lockTrigger(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<TriggerRow | null> {
  return tx.maybeOne(sql.type(triggerRow)`
    select ${columns} from triggers where tenant_id = ${tenantId} and id = ${id} for no key update`);
}

export interface TriggerFilter {
  readonly agentId?: string | undefined;
  readonly type?: TriggerType | undefined;
  readonly enabled?: boolean | undefined;
  readonly after?: Position | undefined;
}

/** Newest first. A page ends early above the bound of what a list holds. */
export async function listTriggers(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { agentId, type, enabled, after }: TriggerFilter,
  limit: number,
): Promise<FoundPage<ListedTriggerRow>> {
  const conditions = [
    sql.fragment`tenant_id = ${tenantId}`,
    ...(agentId === undefined ? [] : [sql.fragment`agent_id = ${agentId}`]),
    ...(type === undefined ? [] : [sql.fragment`trigger_type = ${type}`]),
    ...(enabled === undefined ? [] : [sql.fragment`enabled = ${enabled}`]),
    ...(after === undefined
      ? []
      : [
          sql.fragment`(date_trunc('milliseconds', created_at), id) < (${sql.timestamp(after.at)}, ${after.id}::uuid)`,
        ]),
  ];
  const newestFirst = sql.fragment`date_trunc('milliseconds', created_at) desc, id desc`;
  const page = sql.fragment`
    select ${columns}, octet_length(config::text) as text_bytes from triggers
    where ${sql.join(conditions, sql.fragment` and `)} order by ${newestFirst} limit ${limit + 1}`;
  const rows = await tx.any(sql.type(listedRow)`${withinTextBytes(page, newestFirst, listBytesMax)}`);
  return foundPage(rows, limit);
}

export function countTriggers({ tenantId }: TenantScope, tx: TenantTransaction): Promise<number> {
  return tx.oneFirst(sql.typeAlias('count')`
    select count(*) as count from triggers where tenant_id = ${tenantId}`);
}

const typeCount = z.object({ trigger_type: z.enum(triggerTypes), total: z.number(), enabled: z.number() });

export function countByType(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
): Promise<readonly z.output<typeof typeCount>[]> {
  return tx.any(sql.type(typeCount)`
    select trigger_type, count(*) as total, count(*) filter (where enabled) as enabled
    from triggers where tenant_id = ${tenantId} group by trigger_type`);
}

export type TriggerChange = Pick<
  NewTrigger,
  'agentId' | 'name' | 'config' | 'approved' | 'secrets' | 'secretId'
> & {
  readonly enabled: boolean;
};

export function updateTrigger(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
  change: TriggerChange,
): Promise<TriggerRow> {
  return tx.one(sql.type(triggerRow)`
    update triggers set agent_id = ${change.agentId}, name = ${change.name},
      config = ${JSON.stringify(change.config)}::jsonb, approved = ${sql.array([...change.approved], 'text')},
      secrets = ${sql.array([...change.secrets], 'text')}, secret_id = ${change.secretId}, enabled = ${change.enabled},
      first_enabled_at = case when ${change.enabled} then coalesce(first_enabled_at, now()) else first_enabled_at end,
      revision = revision + 1, updated_at = now()
    where tenant_id = ${tenantId} and id = ${id} returning ${columns}`);
}

export function setTriggerEnabled(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
  enabled: boolean,
): Promise<TriggerRow | null> {
  return tx.maybeOne(sql.type(triggerRow)`
    update triggers set enabled = ${enabled},
      first_enabled_at = case when ${enabled} then coalesce(first_enabled_at, now()) else first_enabled_at end,
      revision = revision + 1, updated_at = now()
    where tenant_id = ${tenantId} and id = ${id} returning ${columns}`);
}

export function setFormerSecret(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
  { secretId, graceMs }: { readonly secretId: string; readonly graceMs: number },
): Promise<TriggerRow> {
  return tx.one(sql.type(triggerRow)`
    update triggers set secret_id = ${secretId}, former_secret_until = now() + ${graceMs} * interval '1 millisecond',
      revision = revision + 1, updated_at = now()
    where tenant_id = ${tenantId} and id = ${id} returning ${columns}`);
}

/** Messages that wait for the trigger are dropped when they are run. */
export async function deleteTrigger(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    delete from triggers where tenant_id = ${tenantId} and id = ${id}`);
}

const liveRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  agent_id: z.uuid(),
  name: z.string(),
  trigger_type: z.enum(triggerTypes),
  config: z.record(z.string(), z.unknown()),
  enabled: z.boolean(),
  revision: z.number(),
  secret_id: z.uuid().nullable(),
  former_secret_until: z.date().nullable(),
  plan: z.enum(plans),
  settings: tenantSettings,
  suspended: z.boolean(),
});
export type LiveRow = z.output<typeof liveRow>;

const byId: HotStatement<LiveRow> = {
  name: 'triggers_by_id',
  text: `select r.tenant_id, r.id, r.agent_id, r.name, r.trigger_type, r.config, r.enabled, r.revision, r.secret_id,
      r.former_secret_until, t.plan, t.settings, t.suspended
    from triggers r join tenant_plans t on t.tenant_id = r.tenant_id where r.id = any($1::uuid[])
      and not t.deleting`,
  row: liveRow,
};

/** Triggers by the ids in webhook URLs: the only lookup without a known tenant. */
export async function findLive(
  reads: HotReads,
  ids: readonly string[],
): Promise<ReadonlyMap<string, LiveRow>> {
  const found = await reads.directory(byId, [ids]);
  return new Map(found.map((row) => [row.id, row]));
}
