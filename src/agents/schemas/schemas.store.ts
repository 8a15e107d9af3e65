import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';
import { secretsOf } from './destinations.js';
import { type SchemaDocument, type SchemaType, schemaTypes } from './document.js';
import { named } from '../../http/operations/index.js';

export const issue = z.object({ field: z.string(), issue: z.string() });
export type SchemaIssue = z.output<typeof issue>;

/** A tool of an MCP server, as the server describes it. */
export const serverTool = named(
  'ServerTool',
  z.object({
    name: z.string(),
    description: z.string(),
    input_schema: z.record(z.string(), z.unknown()),
    /** Declared by the server: a call may be repeated when it is unknown whether it arrived. */
    repeatable: z.boolean().optional(),
  }),
);
export type ServerTool = z.output<typeof serverTool>;

/**
 * Validated before it is written, and not again on reading: during an upgrade, a node of the older version must be
 * able to read what a newer one has written.
 */
export const storedSchema = z
  .looseObject({ type: z.enum(schemaTypes) })
  .transform((value) => value as unknown)
  .pipe(z.custom<SchemaDocument>());

const schemaRow = z.object({
  id: z.uuid(),
  document: storedSchema,
  revision: z.number(),
  approved: z.array(z.string()),
  tools: z.array(serverTool).nullable(),
  tools_read_at: z.date().nullable(),
  issues: z.array(issue).nullable(),
  checked_at: z.date().nullable(),
  created_by: z.uuid().nullable(),
  created_at: z.date(),
  updated_at: z.date(),
});

export type SchemaRow = z.output<typeof schemaRow>;

const columns = sql.fragment`
  id, document, revision, approved, tools, tools_read_at, issues, checked_at, created_by, created_at, updated_at`;

/** In the order of their creation. */
export function listSchemas(
  scope: TenantScope,
  tx: TenantTransaction,
  agentId: string,
  type?: SchemaType,
): Promise<readonly SchemaRow[]> {
  return tx.any(sql.type(schemaRow)`
    select ${columns} from agent_schemas
    where tenant_id = ${scope.tenantId} and agent_id = ${agentId}
      ${type === undefined ? sql.fragment`` : sql.fragment`and type = ${type}`}
    order by created_at, id`);
}

export function findSchema(
  scope: TenantScope,
  tx: TenantTransaction,
  agentId: string,
  id: string,
): Promise<SchemaRow | null> {
  return tx.maybeOne(sql.type(schemaRow)`
    select ${columns} from agent_schemas
    where tenant_id = ${scope.tenantId} and agent_id = ${agentId} and id = ${id}`);
}

export function countSchemas(scope: TenantScope, tx: TenantTransaction, agentId: string): Promise<number> {
  return tx.oneFirst(sql.typeAlias('count')`
    select count(*) as count from agent_schemas
    where tenant_id = ${scope.tenantId} and agent_id = ${agentId}`);
}

export interface NewSchema {
  readonly id: string;
  readonly document: SchemaDocument;
  readonly approved: readonly string[];
  readonly tools: readonly ServerTool[] | null;
  readonly toolsReadAt: Date | null;
  readonly createdBy: string | null;
}

/** Inserts a schema, or replaces the one with that id. The findings about the old content are deleted. */
export function putSchema(
  scope: TenantScope,
  tx: TenantTransaction,
  agentId: string,
  schema: NewSchema,
): Promise<SchemaRow> {
  const { id, document, approved, tools, toolsReadAt, createdBy } = schema;
  return tx.one(sql.type(schemaRow)`
    insert into agent_schemas
      (tenant_id, agent_id, id, document, approved, secrets, tools, tools_read_at, created_by,
       created_at, updated_at)
    select ${scope.tenantId}, ${agentId}, ${id}, ${JSON.stringify(document)}::jsonb,
      ${sql.array([...approved], 'text')}, ${sql.array(secretsOf(document), 'text')},
      ${tools === null ? null : JSON.stringify(tools)}::jsonb,
      ${toolsReadAt === null ? null : sql.timestamp(toolsReadAt)}, ${createdBy}, moment, moment
    from clock_timestamp() as moment
    on conflict (tenant_id, agent_id, id) do update set
      document = excluded.document, approved = excluded.approved, secrets = excluded.secrets,
      tools = excluded.tools, tools_read_at = excluded.tools_read_at, issues = null, checked_at = null,
      revision = agent_schemas.revision + 1, updated_at = excluded.updated_at
    returning ${columns}`);
}

/** Returns whether the schema existed. */
export async function deleteSchema(
  scope: TenantScope,
  tx: TenantTransaction,
  agentId: string,
  id: string,
): Promise<boolean> {
  const deleted = await tx.maybeOne(sql.typeAlias('id')`
    delete from agent_schemas where tenant_id = ${scope.tenantId} and agent_id = ${agentId} and id = ${id}
    returning id`);
  return deleted !== null;
}

/** Records the findings about the given revision. Nothing is written if the schema has another revision. */
export function recordFindings(
  scope: TenantScope,
  tx: TenantTransaction,
  agentId: string,
  found: {
    readonly id: string;
    readonly revision: number;
    /** Undefined if only the tools were read. */
    readonly issues: readonly SchemaIssue[] | undefined;
    readonly tools: readonly ServerTool[] | null;
  },
): Promise<unknown> {
  const issues = found.issues === undefined ? null : JSON.stringify(found.issues);
  const tools = found.tools === null ? null : JSON.stringify(found.tools);
  return tx.query(sql.typeAlias('nothing')`
    update agent_schemas set
      issues = coalesce(${issues}::jsonb, issues),
      checked_at = case when ${issues === null} then checked_at else now() end,
      tools = coalesce(${tools}::jsonb, tools),
      tools_read_at = case when ${tools === null} then tools_read_at else now() end
    where tenant_id = ${scope.tenantId} and agent_id = ${agentId} and id = ${found.id}
      and revision = ${found.revision}`);
}

/** Approves the present destinations of the schemas on behalf of an author who may approve them. */
export function approveDestinations(
  scope: TenantScope,
  tx: TenantTransaction,
  agentId: string,
  schema: { readonly id: string; readonly approved: readonly string[] },
): Promise<unknown> {
  return tx.query(sql.typeAlias('nothing')`
    update agent_schemas set approved = ${sql.array([...schema.approved], 'text')}
    where tenant_id = ${scope.tenantId} and agent_id = ${agentId} and id = ${schema.id}`);
}
