import { z } from 'zod';
import type { TenantScope } from '../kernel/tenant-scope.js';
import { sql, type TenantTransaction } from '../infra/storage/index.js';
import { secretsOf } from './schemas/destinations.js';
import { schemaDocumentOf, type Snapshot, storedSnapshot } from './snapshot.js';

const versionRow = z.object({
  version: z.number(),
  name: z.string(),
  created_by: z.uuid().nullable(),
  created_at: z.date(),
  snapshot: storedSnapshot,
});

export type VersionRow = z.output<typeof versionRow>;

const columns = sql.fragment`version, name, created_by, created_at`;

/** Also records the version as the agent's last one. The agent's lock prevents a number from being used twice. */
export async function insertVersion(
  scope: TenantScope,
  tx: TenantTransaction,
  version: {
    readonly agentId: string;
    readonly version: number;
    readonly name: string;
    readonly snapshot: Snapshot;
    readonly createdBy: string | null;
  },
): Promise<VersionRow> {
  const { agentId, snapshot } = version;
  const secrets = [...new Set(snapshot.schemas.flatMap((schema) => secretsOf(schemaDocumentOf(schema))))];
  const row = await tx.one(sql.type(versionRow)`
    insert into agent_versions (tenant_id, agent_id, version, name, snapshot, secrets, created_by)
    values (${scope.tenantId}, ${agentId}, ${version.version}, ${version.name},
      ${JSON.stringify(snapshot)}::jsonb, ${sql.array(secrets, 'text')}, ${version.createdBy})
    returning ${columns}, snapshot`);
  await tx.query(sql.typeAlias('nothing')`
    update agents set last_version = ${version.version}
    where tenant_id = ${scope.tenantId} and id = ${agentId}`);
  return row;
}

/** For the snapshots of one page, as text. */
const pageCharsMax = 8 * 1024 * 1024;

/** Newest first. A page ends early when its snapshots are too large to return at once; it has at least one. */
export function listVersions(
  scope: TenantScope,
  tx: TenantTransaction,
  agentId: string,
  page: { readonly before: number | undefined; readonly limit: number },
): Promise<readonly VersionRow[]> {
  const { before, limit } = page;
  return tx.any(sql.type(versionRow)`
    select ${columns}, snapshot from (
      select ${columns}, snapshot, sum(length(snapshot::text)) over (order by version desc) as so_far,
        row_number() over (order by version desc) as place
      from (
        select ${columns}, snapshot from agent_versions
        where tenant_id = ${scope.tenantId} and agent_id = ${agentId}
          ${before === undefined ? sql.fragment`` : sql.fragment`and version < ${before}`}
        order by version desc limit ${limit}
      ) newest
    ) counted
    where so_far <= ${pageCharsMax} or place = 1
    order by version desc`);
}

export function existsBelow(
  scope: TenantScope,
  tx: TenantTransaction,
  agentId: string,
  version: number,
): Promise<boolean> {
  return tx.exists(sql.typeAlias('nothing')`
    select from agent_versions
    where tenant_id = ${scope.tenantId} and agent_id = ${agentId} and version < ${version}`);
}

export function findVersion(
  scope: TenantScope,
  tx: TenantTransaction,
  agentId: string,
  version: number,
): Promise<VersionRow | null> {
  return tx.maybeOne(sql.type(versionRow)`
    select ${columns}, snapshot from agent_versions
    where tenant_id = ${scope.tenantId} and agent_id = ${agentId} and version = ${version}`);
}
