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

/** The agent is read first: were its schemas changed in between, its revision has risen by the time it is locked. */
export async function readWorkingCopy(
  scope: TenantScope,
  tx: TenantTransaction,
  id: string,
): Promise<WorkingCopy> {
  const agent = present(await findAgent(scope, tx, id, 'working-copy'));
  return { agent, schemas: await listSchemas(scope, tx, id) };
}

/** Puts a version's content in place of the working copy. Only owners and admins do this, and so approve it. */
export async function replaceWorkingCopy(
  author: Author,
  tx: TenantTransaction,
  id: string,
  snapshot: Snapshot,
  /** When the version was made, and so when its servers were last asked. */
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
