import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

export const secretKinds = ['generic', 'llm_key', 'basic', 'bearer'] as const;
export type SecretKind = (typeof secretKinds)[number];

const secretRow = z.object({
  id: z.string(),
  name: z.string().nullable(),
  owner: z.string().nullable(),
  kind: z.enum(secretKinds),
  provider: z.string().nullable(),
  allowed_hosts: z.array(z.string()).nullable(),
  version: z.number(),
  created_by: z.string(),
  created_at: z.date(),
  updated_at: z.date(),
  value_changed_at: z.date(),
  previous_accepted_until: z.date().nullable(),
});
export type SecretRow = z.output<typeof secretRow>;

const versionRow = z.object({
  secret_id: z.string(),
  version: z.number(),
  data_key_id: z.string(),
  sealed: z.instanceof(Buffer),
});
export type VersionRow = z.output<typeof versionRow>;

/** Identifies a secret by name, id or owner. */
export type SecretIdentity = { readonly name: string } | { readonly id: string } | { readonly owner: string };

const columns = sql.fragment`
  s.id, s.name, s.owner, s.kind, s.provider, s.allowed_hosts, s.version, s.created_by, s.created_at, s.updated_at,
  s.value_changed_at,
  (select max(v.accepted_until) from secret_versions v
    where v.tenant_id = s.tenant_id and v.secret_id = s.id and v.accepted_until > now()) as previous_accepted_until`;

function condition(identity: SecretIdentity) {
  if ('id' in identity) return sql.fragment`s.id = ${identity.id}`;
  if ('owner' in identity) return sql.fragment`s.owner = ${identity.owner}`;
  return sql.fragment`s.name = ${identity.name}`;
}

export function findSecret(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  identity: SecretIdentity,
): Promise<SecretRow | null> {
  return tx.maybeOne(sql.type(secretRow)`
    select ${columns} from secrets s where s.tenant_id = ${tenantId} and ${condition(identity)}`);
}

/** Locks until the transaction ends. `change`: against changes and deletion. `keep`: against deletion only. */
export function lockSecret(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  identity: SecretIdentity,
  purpose: 'change' | 'keep',
): Promise<SecretRow | null> {
  const lock = purpose === 'change' ? sql.fragment`for update of s` : sql.fragment`for key share of s`;
  return tx.maybeOne(sql.type(secretRow)`
    select ${columns} from secrets s where s.tenant_id = ${tenantId} and ${condition(identity)} ${lock}`);
}

/** Named secrets, by name, starting after `after`. */
export function listSecrets(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<readonly SecretRow[]> {
  return tx.any(sql.type(secretRow)`
    select ${columns} from secrets s
    where s.tenant_id = ${tenantId} and s.name is not null
      and (${after}::text is null or s.name collate "C" > ${after})
    order by s.name collate "C" limit ${limit}`);
}

/** The tenant's own vendor keys, the one that was set last first. */
export function listProviderKeys(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
): Promise<readonly SecretRow[]> {
  return tx.any(sql.type(secretRow)`
    select ${columns} from secrets s where s.tenant_id = ${tenantId} and s.provider is not null
    order by s.value_changed_at desc, s.id`);
}

/** Counts the secrets that people made. */
export async function countSecrets({ tenantId }: TenantScope, tx: TenantTransaction): Promise<number> {
  const { count } = await tx.one(
    sql.typeAlias(
      'count',
    )`select count(*) as count from secrets where tenant_id = ${tenantId} and name is not null`,
  );
  return count;
}

export async function insertSecret(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  secret: Pick<SecretRow, 'id' | 'name' | 'owner' | 'kind' | 'provider' | 'allowed_hosts' | 'created_by'>,
): Promise<void> {
  const hosts = secret.allowed_hosts === null ? null : sql.array([...secret.allowed_hosts], 'text');
  await tx.query(sql.typeAlias('nothing')`
    insert into secrets (tenant_id, id, name, owner, kind, provider, allowed_hosts, version, created_by)
    values (${tenantId}, ${secret.id}, ${secret.name}, ${secret.owner}, ${secret.kind}, ${secret.provider},
      ${hosts}, 1, ${secret.created_by})`);
}

export async function updateAllowedHosts(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
  hosts: readonly string[] | null,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update secrets set allowed_hosts = ${hosts === null ? null : sql.array([...hosts], 'text')}, updated_at = now()
    where tenant_id = ${tenantId} and id = ${id}`);
}

/** Makes `version` current. Earlier versions stay accepted for `graceMs`; those past their grace time are deleted. */
export async function advanceVersion(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { id, version, graceMs }: { readonly id: string; readonly version: number; readonly graceMs: number },
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update secrets set version = ${version}, updated_at = now(), value_changed_at = now()
    where tenant_id = ${tenantId} and id = ${id}`);
  await tx.query(sql.typeAlias('nothing')`
    update secret_versions
    set accepted_until = least(accepted_until, now() + make_interval(secs => ${graceMs / 1_000}))
    where tenant_id = ${tenantId} and secret_id = ${id} and version < ${version}`);
  await tx.query(sql.typeAlias('nothing')`
    delete from secret_versions
    where tenant_id = ${tenantId} and secret_id = ${id} and version < ${version} and accepted_until <= now()`);
}

export async function insertVersion(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  row: VersionRow,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    insert into secret_versions (tenant_id, secret_id, version, data_key_id, sealed)
    values (${tenantId}, ${row.secret_id}, ${row.version}, ${row.data_key_id}, ${sql.binary(row.sealed)})`);
}

/** The current version and the earlier ones that are still accepted; newest first. */
export function listAcceptedVersions(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  secretId: string,
): Promise<readonly VersionRow[]> {
  return tx.any(sql.type(versionRow)`
    select secret_id, version, data_key_id, sealed from secret_versions
    where tenant_id = ${tenantId} and secret_id = ${secretId}
      and (accepted_until is null or accepted_until > now())
    order by version desc`);
}

/** Locks some of the versions that are sealed with a key other than the given one, until the transaction ends. */
export function holdVersionsOfOtherKeys(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  dataKeyId: string,
  limit: number,
): Promise<readonly VersionRow[]> {
  return tx.any(sql.type(versionRow)`
    select secret_id, version, data_key_id, sealed from secret_versions
    where tenant_id = ${tenantId} and data_key_id <> ${dataKeyId}
    order by secret_id, version limit ${limit} for update`);
}

export async function resealVersion(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  row: VersionRow,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update secret_versions set data_key_id = ${row.data_key_id}, sealed = ${sql.binary(row.sealed)}
    where tenant_id = ${tenantId} and secret_id = ${row.secret_id} and version = ${row.version}`);
}

export async function deleteSecret(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`delete from secrets where tenant_id = ${tenantId} and id = ${id}`);
}
