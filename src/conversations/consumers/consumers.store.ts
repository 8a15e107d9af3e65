import { z } from 'zod';
import type { NameSource } from '../invocation/index.js';
import { type HotStatement, sql, type TenantTransaction } from '../../infra/storage/index.js';

const consumerRow = z.object({
  consumer_key: z.string(),
  display_name: z.string().nullable(),
  channels: z.array(z.string()),
  first_seen: z.date().nullable(),
  last_seen: z.date().nullable(),
  latest_at: z.date(),
  blocked: z.boolean(),
  blocked_reason: z.string().nullable(),
  blocked_by: z.string().nullable(),
  blocked_at: z.date().nullable(),
});
export type ConsumerRow = z.output<typeof consumerRow>;

const columns = sql.fragment`
  c.consumer_key, c.display_name, c.channels, c.first_seen, c.last_seen, c.latest_at, c.blocked, c.blocked_reason,
  c.blocked_by, c.blocked_at`;

export interface ConsumerFilter {
  /** Matches the key or the name, regardless of case. */
  readonly search: string | undefined;
  readonly blocked: boolean | undefined;
}

/** The position of the last row of the previous page. */
export interface ConsumerPosition {
  readonly at: Date;
  readonly key: string;
}

/** Most recently seen first. */
export function listConsumers(
  tx: TenantTransaction,
  { search, blocked }: ConsumerFilter,
  after: ConsumerPosition | undefined,
  limit: number,
): Promise<readonly ConsumerRow[]> {
  const conditions = [
    sql.fragment`c.tenant_id = ${tx.scope.tenantId}`,
    ...(blocked === undefined ? [] : [sql.fragment`c.blocked = ${blocked}`]),
    ...(search === undefined
      ? []
      : [
          sql.fragment`(position(lower(${search}) in lower(c.consumer_key)) > 0
            or position(lower(${search}) in lower(coalesce(c.display_name, ''))) > 0)`,
        ]),
    ...(after === undefined
      ? []
      : [
          sql.fragment`(c.latest_at < ${after.at.toISOString()}::timestamptz
            or (c.latest_at = ${after.at.toISOString()}::timestamptz and c.consumer_key > ${after.key}))`,
        ]),
  ];
  return tx.any(sql.type(consumerRow)`
    select ${columns} from consumers c where ${sql.join(conditions, sql.fragment` and `)}
    order by c.latest_at desc, c.consumer_key limit ${limit}`);
}

export function findConsumer(tx: TenantTransaction, key: string): Promise<ConsumerRow | null> {
  return tx.maybeOne(sql.type(consumerRow)`
    select ${columns} from consumers c
    where c.tenant_id = ${tx.scope.tenantId} and c.consumer_key = ${key}`);
}

/** False for an unknown consumer. An erasure of a known one waits until this transaction is over. */
export async function lockConsumer(tx: TenantTransaction, key: string): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    select from consumers where tenant_id = ${tx.scope.tenantId} and consumer_key = ${key} for update`);
  return rowCount > 0;
}

/** The display name of a consumer; no row for an unknown consumer. */
export const nameStatement: HotStatement<{ readonly display_name: string | null }> = {
  name: 'consumer_name',
  text: 'select display_name from consumers where tenant_id = $1 and consumer_key = $2',
  row: z.object({ display_name: z.string().nullable() }),
};

export interface Denial {
  readonly key: string;
  readonly reason: string | undefined;
  readonly by: string;
  readonly at: Date;
}

/** True if the key was not denied before. An omitted reason keeps the earlier one. */
export async function markDenied(tx: TenantTransaction, { key, reason, by, at }: Denial): Promise<boolean> {
  const { tenantId } = tx.scope;
  const moment = at.toISOString();
  await tx.query(sql.typeAlias('nothing')`
    insert into consumers (tenant_id, consumer_key, latest_at) values (${tenantId}, ${key}, ${moment})
    on conflict (tenant_id, consumer_key) do nothing`);
  const before = await tx.oneFirst(sql.type(z.object({ blocked: z.boolean() }))`
    select blocked from consumers where tenant_id = ${tenantId} and consumer_key = ${key} for update`);
  await tx.query(sql.typeAlias('nothing')`
    update consumers set blocked = true,
      blocked_reason = coalesce(${reason ?? null}, blocked_reason),
      blocked_by = ${by},
      blocked_at = coalesce(blocked_at, ${moment})
    where tenant_id = ${tenantId} and consumer_key = ${key}`);
  return !before;
}

/** True if the key was denied. The row of a consumer that was never seen is deleted. */
export async function markAllowed(
  tx: TenantTransaction,
  key: string,
  erased: readonly string[],
): Promise<boolean> {
  const { tenantId } = tx.scope;
  await lockConsumer(tx, key);
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update consumers set blocked = false, blocked_reason = null, blocked_by = null, blocked_at = null
    where tenant_id = ${tenantId} and consumer_key = any(${sql.array([key, ...erased], 'text')}) and blocked`);
  await tx.query(sql.typeAlias('nothing')`
    delete from consumers where tenant_id = ${tenantId}
      and consumer_key = any(${sql.array([key, ...erased], 'text')}) and first_seen is null and not blocked`);
  return rowCount > 0;
}

/** Deletes the consumer. A block stays under `hashed`, without its reason. True if the consumer was blocked. */
export async function eraseConsumer(tx: TenantTransaction, key: string, hashed: string): Promise<boolean> {
  const { tenantId } = tx.scope;
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    with gone as (
      delete from consumers where tenant_id = ${tenantId} and consumer_key = ${key}
      returning blocked, blocked_by, blocked_at
    )
    insert into consumers (tenant_id, consumer_key, latest_at, blocked, blocked_by, blocked_at)
    select ${tenantId}, ${hashed}, blocked_at, true, blocked_by, blocked_at from gone where blocked
    on conflict (tenant_id, consumer_key) do update set blocked_at = excluded.blocked_at`);
  return rowCount > 0;
}

/** Idempotent upsert of a consumer's "last seen". */
export interface ConsumerTouch {
  readonly tenant_id: string;
  readonly consumer_key: string;
  readonly display_name: string | null;
  /** True if an integration declared the name, false if it was inferred. */
  readonly declared: boolean;
  readonly channel: string;
  readonly at: string;
}

/** Touches of many tenants, as a JSON list in `$1`, in the transaction of their turns. */
export const touchStatement = {
  name: 'consumers_touch',
  text: 'select touch_consumers($1::jsonb)',
  part: {
    name: 'touched',
    text: (parameter: number, condition: string): string =>
      `select touch_consumers($${parameter}::jsonb)::text as nothing where ${condition}`,
    // PostgreSQL calls the function only if the outer query reads its result.
    answers: true,
  },
} as const;

export async function touchConsumer(
  tx: TenantTransaction,
  touch: {
    readonly key: string;
    readonly name: { readonly name: string; readonly source: NameSource } | undefined;
    readonly channel: string;
    readonly at: Date;
  },
): Promise<void> {
  const row: ConsumerTouch = {
    tenant_id: tx.scope.tenantId,
    consumer_key: touch.key,
    display_name: touch.name?.name ?? null,
    declared: touch.name?.source === 'declared',
    channel: touch.channel,
    at: touch.at.toISOString(),
  };
  await tx.one(sql.type(z.object({ touched: z.unknown() }))`
    select touch_consumers(${JSON.stringify([row])}::jsonb) as touched`);
}
