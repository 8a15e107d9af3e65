import { z } from 'zod';
import { type Budget, budgetShape } from '../../kernel/budget.js';
import { roles } from '../../kernel/caller.js';
import type { Position } from '../../http/operations/index.js';
import {
  allPages,
  type DirectoryTransaction,
  type FoundPage,
  foundPage,
  listBytesMax,
  pageRows,
  sql,
  type TenantTransaction,
  withinTextBytes,
} from '../../infra/storage/index.js';
import { keyPrefixes } from './key-text.js';
import type { PublicUse } from './public-use.js';

const keyRow = z.object({
  id: z.uuid(),
  name: z.string(),
  description: z.string().nullable(),
  prefix: z.enum(keyPrefixes),
  suffix: z.string(),
  role: z.enum(roles),
  rate_limit_per_minute: z.number(),
  quota_limit: z.number().nullable(),
  allowed_models: z.array(z.string()).nullable(),
  allowed_ips: z.array(z.string()).nullable(),
  budget: budgetShape.nullable(),
  origins: z.array(z.string()).nullable(),
  agent_ids: z.array(z.string()).nullable(),
  created_by: z.string(),
  created_at: z.date(),
  expires_at: z.date().nullable(),
  revoked_at: z.date().nullable(),
  total_requests: z.number(),
  last_used_at: z.date().nullable(),
});
export type KeyRow = z.output<typeof keyRow>;

/** What a key may ask for, from where, and what it may spend; null sets no limit. */
export interface KeyLimits {
  readonly budget: Budget | null;
  readonly allowedModels: readonly string[] | null;
  readonly allowedIps: readonly string[] | null;
  /** Null for a key that is no public one. */
  readonly publicUse: PublicUse | null;
}

export interface NewKeyRow {
  readonly id: string;
  /** Hexadecimal. */
  readonly hash: string;
  readonly prefix: string;
  readonly suffix: string;
  readonly name: string;
  readonly description: string | null;
  readonly role: string;
  readonly requestsPerMinute: number;
  readonly quotaLimit: number | null;
  readonly limits: KeyLimits;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

/** Lists as JSON, which is read many times faster than PostgreSQL's text of an array. */
const columns = sql.fragment`
  k.id, k.name, k.description, k.prefix, k.suffix, k.role, k.rate_limit_per_minute, k.quota_limit,
  to_jsonb(k.allowed_models) as allowed_models, to_jsonb(k.allowed_ips) as allowed_ips, k.budget,
  to_jsonb(k.origins) as origins, to_jsonb(k.agent_ids) as agent_ids, k.created_by, k.created_at, k.expires_at, k.revoked_at,
  u.total_requests, u.last_used_at`;
const withUse = sql.fragment`
  from api_keys k join api_key_use u on u.tenant_id = k.tenant_id and u.key_id = k.id`;

export async function insertKey(tx: TenantTransaction, key: NewKeyRow): Promise<void> {
  const { tenantId } = tx.scope;
  await tx.query(sql.typeAlias('nothing')`
    insert into api_keys (tenant_id, id, hash, prefix, suffix, name, description, role, rate_limit_per_minute,
      quota_limit, allowed_models, allowed_ips, budget, origins, agent_ids, created_by, created_at, expires_at)
    values (${tenantId}, ${key.id}, decode(${key.hash}, 'hex'), ${key.prefix}, ${key.suffix}, ${key.name},
      ${key.description}, ${key.role}, ${key.requestsPerMinute}, ${key.quotaLimit},
      ${listOf(key.limits.allowedModels)}, ${listOf(key.limits.allowedIps)}, ${jsonOf(key.limits.budget)},
      ${listOf(key.limits.publicUse?.origins ?? null)}, ${idsOf(key.limits.publicUse)}, ${key.createdBy},
      ${key.createdAt.toISOString()}, ${key.expiresAt?.toISOString() ?? null})`);
  await tx.query(sql.typeAlias('nothing')`
    insert into api_key_use (tenant_id, key_id) values (${tenantId}, ${key.id})`);
}

function listOf(values: readonly string[] | null) {
  return values === null ? null : sql.array([...values], 'text');
}

function idsOf(publicUse: PublicUse | null) {
  return publicUse === null ? null : sql.array([...publicUse.agentIds], 'uuid');
}

/** What a row says of the use of a public key; null for every other key. */
export function publicUseOf(row: Pick<KeyRow, 'origins' | 'agent_ids'>): PublicUse | null {
  const { origins, agent_ids: agentIds } = row;
  return origins === null || agentIds === null ? null : { origins, agentIds };
}

function jsonOf(budget: Budget | null) {
  return budget === null ? null : sql.jsonb(budget);
}

export function countUnrevoked(tx: TenantTransaction): Promise<number> {
  return tx.oneFirst(sql.typeAlias('count')`
    select count(*) as count from api_keys where tenant_id = ${tx.scope.tenantId} and revoked_at is null`);
}

export function findKey(tx: TenantTransaction, keyId: string): Promise<KeyRow | null> {
  return tx.maybeOne(sql.type(keyRow)`
    select ${columns} ${withUse} where k.tenant_id = ${tx.scope.tenantId} and k.id = ${keyId}`);
}

const listedRow = keyRow.extend({ text_bytes: z.number(), ...pageRows });
type ListedKeyRow = z.output<typeof listedRow>;

/** About what a key without its texts takes, as a row and in the answer: a tenant may have revoked many. */
const listedBytes = 600;

/** Newest first; without a limit all, as far as one answer holds them. */
export function listKeys(
  tx: TenantTransaction,
  { behind, limit }: { readonly behind: Position | undefined; readonly limit: number | undefined },
): Promise<FoundPage<ListedKeyRow>> {
  if (limit !== undefined) return readPage(tx, { behind, limit });
  return allPages((last: ListedKeyRow | undefined, rows) =>
    readPage(tx, { behind: last === undefined ? behind : { at: last.created_at, id: last.id }, limit: rows }),
  );
}

/** A page ends early above the bound of what a list holds. */
async function readPage(
  tx: TenantTransaction,
  page: { readonly behind: Position | undefined; readonly limit: number },
): Promise<FoundPage<ListedKeyRow>> {
  const { behind, limit } = page;
  const after =
    behind === undefined
      ? sql.fragment``
      : sql.fragment`and (k.created_at, k.id) < (${behind.at.toISOString()}::timestamptz, ${behind.id}::uuid)`;
  const size = sql.fragment`octet_length(concat(k.name, k.description, array_to_string(k.allowed_models, ' '),
    array_to_string(k.allowed_ips, ' '), array_to_string(k.origins, ' '), array_to_string(k.agent_ids, ' ')))`;
  const newest = sql.fragment`
    select k.id, k.created_at, ${listedBytes}::integer + ${size} as text_bytes from api_keys k
    where k.tenant_id = ${tx.scope.tenantId} ${after}
    order by k.created_at desc, k.id desc limit ${limit + 1}`;
  const shown = withinTextBytes(newest, sql.fragment`created_at desc, id desc`, listBytesMax);
  const rows = await tx.any(sql.type(listedRow)`
    select ${columns}, f.text_bytes, f.page_rows ${withUse} join (${shown}) f on f.id = k.id
    where k.tenant_id = ${tx.scope.tenantId}
    order by k.created_at desc, k.id desc`);
  return foundPage(rows, limit);
}

const totals = z.object({
  total: z.number(),
  active: z.number(),
  revoked: z.number(),
  expired: z.number(),
  total_requests: z.number(),
});

export function readTotals(tx: TenantTransaction, now: Date): Promise<z.output<typeof totals>> {
  const expired = sql.fragment`k.expires_at <= ${now.toISOString()}::timestamptz`;
  return tx.one(sql.type(totals)`
    select count(*) as total,
      count(*) filter (where k.revoked_at is null and (${expired}) is not true) as active,
      count(*) filter (where k.revoked_at is not null) as revoked,
      count(*) filter (where k.revoked_at is null and ${expired}) as expired,
      coalesce(sum(u.total_requests), 0)::bigint as total_requests
    ${withUse} where k.tenant_id = ${tx.scope.tenantId}`);
}

const locked = keyRow.pick({
  rate_limit_per_minute: true,
  revoked_at: true,
  description: true,
  allowed_models: true,
  allowed_ips: true,
  budget: true,
  origins: true,
  agent_ids: true,
});

/** Locks the row until the transaction ends, so that it stays as it was read. */
export function lockKey(tx: TenantTransaction, keyId: string): Promise<z.output<typeof locked> | null> {
  return tx.maybeOne(sql.type(locked)`
    select rate_limit_per_minute, revoked_at, description, allowed_models, allowed_ips, budget, origins, agent_ids
    from api_keys
    where tenant_id = ${tx.scope.tenantId} and id = ${keyId} for update`);
}

const held = keyRow.pick({ role: true, revoked_at: true, expires_at: true });

/** Keeps the key from being revoked until the transaction ends. */
export function holdKey(tx: TenantTransaction, keyId: string): Promise<z.output<typeof held> | null> {
  return tx.maybeOne(sql.type(held)`
    select role, revoked_at, expires_at from api_keys
    where tenant_id = ${tx.scope.tenantId} and id = ${keyId} for share`);
}

export async function updateRate(tx: TenantTransaction, keyId: string, rpm: number): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update api_keys set rate_limit_per_minute = ${rpm}
    where tenant_id = ${tx.scope.tenantId} and id = ${keyId}`);
}

export interface ChangedLimits extends KeyLimits {
  readonly description: string | null;
}

export async function updateLimits(
  tx: TenantTransaction,
  keyId: string,
  limits: ChangedLimits,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update api_keys set description = ${limits.description}, allowed_models = ${listOf(limits.allowedModels)},
      allowed_ips = ${listOf(limits.allowedIps)}, budget = ${jsonOf(limits.budget)},
      origins = ${listOf(limits.publicUse?.origins ?? null)}, agent_ids = ${idsOf(limits.publicUse)}
    where tenant_id = ${tx.scope.tenantId} and id = ${keyId}`);
}

/** False if the key was already revoked: of several concurrent calls one revokes. */
export async function markRevoked(tx: TenantTransaction, keyId: string, at: Date): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update api_keys set revoked_at = ${at.toISOString()}
    where tenant_id = ${tx.scope.tenantId} and id = ${keyId} and revoked_at is null`);
  return rowCount === 1;
}

/** Revokes the tenant's keys and returns their ids. The caller announces them. */
export async function revokeAllKeys(
  tx: DirectoryTransaction,
  tenantId: string,
  at: Date,
): Promise<readonly string[]> {
  const rows = await tx.any(
    sql.type(z.object({ id: z.string() }))`
      update api_keys set revoked_at = ${sql.timestamp(at)}
      where tenant_id = ${tenantId} and revoked_at is null returning id`,
  );
  return rows.map(({ id }) => id);
}

/** Revokes at most `max` keys that the user made in the tenant and returns their ids. The caller announces them. */
export async function revokeKeysOf(
  tx: TenantTransaction,
  userId: string,
  at: Date,
  max: number,
): Promise<readonly string[]> {
  const { tenantId } = tx.scope;
  const rows = await tx.any(
    sql.type(z.object({ id: z.string() }))`
      update api_keys set revoked_at = ${sql.timestamp(at)}
      where tenant_id = ${tenantId} and revoked_at is null and id in (
        select id from api_keys
        where tenant_id = ${tenantId} and created_by = ${`user:${userId}`} and revoked_at is null limit ${max})
      returning id`,
  );
  return rows.map(({ id }) => id);
}

/** The names of keys of the tenant, also of those whose rows are gone. */
export function findKeyNames(
  tx: TenantTransaction,
  keyIds: readonly string[],
): Promise<readonly { readonly id: string; readonly name: string }[]> {
  return tx.any(sql.type(z.object({ id: z.string(), name: z.string() }))`
    select id, name from api_keys
    where tenant_id = ${tx.scope.tenantId} and id = any(${sql.array([...keyIds], 'uuid')})
    union all
    select key_id, name from ended_key_names
    where tenant_id = ${tx.scope.tenantId} and key_id = any(${sql.array([...keyIds], 'uuid')})`);
}

/** Removes some keys that were revoked before the time and returns how many. Their names stay, if they were used. */
export function forgetKeys(tx: TenantTransaction, before: Date, rowsMax: number): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ gone: z.number() }))`
    select forget_keys(${sql.timestamp(before)}, ${rowsMax}) as gone`);
}
