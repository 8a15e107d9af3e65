import { z } from 'zod';
import type { TenantScope } from '../context/tenant-scope.js';
import { sql, type TenantTransaction } from '../storage/index.js';
import type { Snapshot } from './snapshot.js';

export function insertVersion(
  scope: TenantScope,
  tx: TenantTransaction,
  version: {
    readonly agentId: string;
    readonly version: number;
    readonly name: string;
    readonly snapshot: Snapshot;
    readonly createdBy: string | null;
  },
): Promise<unknown> {
  return tx.query(sql.type(z.object({}))`
    insert into agent_versions (tenant_id, agent_id, version, name, snapshot, created_by)
    values (${scope.tenantId}, ${version.agentId}, ${version.version}, ${version.name},
      ${JSON.stringify(version.snapshot)}::jsonb, ${version.createdBy})`);
}
