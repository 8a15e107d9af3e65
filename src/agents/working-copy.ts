import type { TenantScope } from '../kernel/tenant-scope.js';
import type { TenantTransaction } from '../infra/storage/index.js';
import { approvalOf } from '../tenancy/vault/index.js';
import { present } from './agents.js';
import { type AgentRow, findAgent, updateDocument } from './agents.store.js';
import type { Author } from './author.js';
import { destinationsOf } from './schemas/destinations.js';
import { deleteSchema, listSchemas, putSchema, type SchemaRow } from './schemas/schemas.store.js';
import { documentOf, schemaDocumentOf, type Snapshot } from './snapshot.js';

export interface WorkingCopy {
  readonly agent: AgentRow;
  readonly schemas: readonly SchemaRow[];
}

/**
 * Reads the agent before its schemas: if the schemas change in between, the revision has risen by the time the
 * agent is locked.
 */
export async function readWorkingCopy(
  scope: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<WorkingCopy> {
  const agent = present(await findAgent(scope, tx, id, 'working-copy'));
  return { agent, schemas: await listSchemas(scope, tx, id) };
}

/**
 * Replaces the working copy by the content of a version. Only owners and admins can do this, so it approves the
 * destinations.
 */
export async function replaceWorkingCopy(
  author: Author,
  tx: TenantTransaction,
  id: string,
  snapshot: Snapshot,
  /** The time of the version, at which its servers were last asked. */
  at: Date,
): Promise<AgentRow> {
  const { scope } = author;
  const kept = new Set(snapshot.schemas.map((schema) => schema.id));
  for (const row of await listSchemas(scope, tx, id)) {
    if (!kept.has(row.id)) await deleteSchema(scope, tx, id, row.id);
  }
  for (const schema of snapshot.schemas) {
    const document = schemaDocumentOf(schema);
    await putSchema(scope, tx, id, {
      id: schema.id,
      document,
      approved: destinationsOf(document).map(approvalOf),
      tools: schema.tools,
      toolsReadAt: schema.tools === null ? null : at,
      createdBy: author.id,
    });
  }
  return updateDocument(scope, tx, id, documentOf(snapshot));
}
