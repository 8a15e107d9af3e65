import { z } from 'zod';
import type { TenantScope } from '../context/tenant-scope.js';
import { sql, type TenantTransaction } from '../storage/index.js';
import { secretsOf } from './schemas/destinations.js';
import { schemaDocumentOf, type Snapshot, storedSnapshot } from './snapshot.js';

const versionSummary = z.object({
  version: z.number(),
  name: z.string(),
  created_by: z.uuid().nullable(),
  created_at: z.date(),
});
const versionRow = versionSummary.extend({ snapshot: storedSnapshot });

export type VersionSummary = z.output<typeof versionSummary>;
export type VersionRow = z.output<typeof versionRow>;

const columns = sql.fragment`version, name, created_by, created_at`;

/** The version is recorded as the last one, which the agent's lock keeps from being given twice. */
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

/** Newest first. */
export function listVersions(
  scope: TenantScope,
  tx: TenantTransaction,
  agentId: string,
  page: { readonly before?: number | undefined; readonly limit?: number | undefined },
): Promise<readonly VersionSummary[]> {
  const { before, limit } = page;
  return tx.any(sql.type(versionSummary)`
    select ${columns} from agent_versions
    where tenant_id = ${scope.tenantId} and agent_id = ${agentId}
      ${before === undefined ? sql.fragment`` : sql.fragment`and version < ${before}`}
    order by version desc
    ${limit === undefined ? sql.fragment`` : sql.fragment`limit ${limit}`}`);
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
