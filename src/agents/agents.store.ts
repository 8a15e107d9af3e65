import { z } from 'zod';
import type { TenantScope } from '../kernel/tenant-scope.js';
import {
  type FoundPage,
  foundPage,
  listBytesMax,
  pageRows,
  sql,
  type TenantTransaction,
  withinTextBytes,
} from '../infra/storage/index.js';
import { type AgentDocument, storedDocument } from './document.js';

export const statuses = ['draft', 'published', 'archived'] as const;
export type AgentStatus = (typeof statuses)[number];

/** Reads the working copy of every agent, or the published version of published agents. */
export type View = 'working-copy' | 'published';

export interface AgentFilter {
  readonly status?: AgentStatus | undefined;
  readonly type?: string | undefined;
  readonly createdBy?: string | undefined;
  readonly includeArchived?: boolean | undefined;
  /** Only agents with a budget. */
  readonly budgeted?: boolean | undefined;
  /** The id of the last agent of the previous page. */
  readonly after?: string | undefined;
}

const agentRow = z.object({
  id: z.uuid(),
  document: storedDocument,
  status: z.enum(statuses),
  revision: z.number(),
  last_version: z.number(),
  published_version: z.number().nullable(),
  rate_limit: z.number().nullable(),
  allowed_users: z.array(z.guid()),
  created_by: z.uuid().nullable(),
  created_at: z.date(),
  updated_at: z.date(),
});

export type AgentRow = z.output<typeof agentRow>;

const listedRow = agentRow.extend({ text_bytes: z.number(), ...pageRows });

export type ListedAgentRow = z.output<typeof listedRow>;

const columns = sql.fragment`
  a.id, a.status, a.revision, a.last_version, a.published_version, a.rate_limit, a.allowed_users::text[],
  a.created_by, a.created_at, a.updated_at`;

function documentOf(view: View) {
  return view === 'published' ? sql.fragment`v.snapshot - 'schemas'` : sql.fragment`a.document`;
}

function source(view: View) {
  return view === 'published'
    ? sql.fragment`agents a join agent_versions v
        on v.tenant_id = a.tenant_id and v.agent_id = a.id and v.version = a.published_version`
    : sql.fragment`agents a`;
}

export function insertAgent(
  scope: TenantScope,
  tx: TenantTransaction,
  agent: { readonly id: string; readonly document: AgentDocument; readonly createdBy: string | null },
): Promise<AgentRow> {
  return tx.one(sql.type(agentRow)`
    insert into agents as a (tenant_id, id, document, created_by)
    values (${scope.tenantId}, ${agent.id}, ${JSON.stringify(agent.document)}::jsonb, ${agent.createdBy})
    returning ${columns}, a.document`);
}

export function findAgent(
  scope: TenantScope,
  tx: TenantTransaction,
  id: string,
  view: View,
): Promise<AgentRow | null> {
  return tx.maybeOne(sql.type(agentRow)`
    select ${columns}, ${documentOf(view)} as document from ${source(view)}
    where a.tenant_id = ${scope.tenantId} and a.id = ${id}`);
}

/** Reads the working copy and locks its row until the transaction ends. */
export function lockAgent(scope: TenantScope, tx: TenantTransaction, id: string): Promise<AgentRow | null> {
  return tx.maybeOne(sql.type(agentRow)`
    select ${columns}, a.document from agents a
    where a.tenant_id = ${scope.tenantId} and a.id = ${id} for no key update`);
}

/** Newest first. A page ends early above the bound of what a list holds. */
export async function listAgents(
  scope: TenantScope,
  tx: TenantTransaction,
  view: View,
  filter: AgentFilter,
  limit: number,
): Promise<FoundPage<ListedAgentRow>> {
  const { status, type, createdBy, includeArchived, budgeted, after } = filter;
  const typeColumn = view === 'published' ? sql.fragment`v.snapshot ->> 'type'` : sql.fragment`a.type`;
  const conditions = [
    sql.fragment`a.tenant_id = ${scope.tenantId}`,
    ...(status === undefined ? [] : [sql.fragment`a.status = ${status}`]),
    ...(status === undefined && includeArchived !== true ? [sql.fragment`a.status <> 'archived'`] : []),
    ...(type === undefined ? [] : [sql.fragment`${typeColumn} = ${type}`]),
    ...(createdBy === undefined ? [] : [sql.fragment`a.created_by = ${createdBy}`]),
    ...(budgeted === true
      ? [sql.fragment`jsonb_typeof((${documentOf(view)}) #> '{metadata,budget}') = 'object'`]
      : []),
    ...(after === undefined
      ? []
      : [
          sql.fragment`(a.created_at, a.id) < (
            select o.created_at, o.id from agents o where o.tenant_id = ${scope.tenantId} and o.id = ${after})`,
        ]),
  ];
  const page = sql.fragment`
    select ${columns}, ${documentOf(view)} as document, octet_length((${documentOf(view)})::text) as text_bytes
    from ${source(view)}
    where ${sql.join(conditions, sql.fragment` and `)}
    order by a.created_at desc, a.id desc limit ${limit + 1}`;
  const rows = await tx.any(
    sql.type(listedRow)`${withinTextBytes(page, sql.fragment`created_at desc, id desc`, listBytesMax)}`,
  );
  return foundPage(rows, limit);
}

export function countAgents(scope: TenantScope, tx: TenantTransaction): Promise<number> {
  return tx.oneFirst(sql.typeAlias('count')`
    select count(*) as count from agents where tenant_id = ${scope.tenantId} and status <> 'archived'`);
}

/** The names, in lower case, that begin with the stem. */
export async function takenNames(
  scope: TenantScope,
  tx: TenantTransaction,
  stem: string,
): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(z.object({ name: z.string() }))`
    select lower(name) as name from agents
    where tenant_id = ${scope.tenantId} and status <> 'archived' and starts_with(lower(name), lower(${stem}))`);
}

export function updateDocument(
  scope: TenantScope,
  tx: TenantTransaction,
  id: string,
  document: AgentDocument,
): Promise<AgentRow> {
  return tx.one(sql.type(agentRow)`
    update agents a set document = ${JSON.stringify(document)}::jsonb, revision = revision + 1, updated_at = now()
    where a.tenant_id = ${scope.tenantId} and a.id = ${id}
    returning ${columns}, a.document`);
}

/** Marks the working copy as changed after a change of its schemas. */
export function touchAgent(scope: TenantScope, tx: TenantTransaction, id: string): Promise<unknown> {
  return tx.query(sql.typeAlias('nothing')`
    update agents set revision = revision + 1, updated_at = now()
    where tenant_id = ${scope.tenantId} and id = ${id}`);
}

/** Unpublishes the agent and sets the given state. */
export function withdraw(
  scope: TenantScope,
  tx: TenantTransaction,
  id: string,
  status: 'draft' | 'archived',
): Promise<AgentRow> {
  return tx.one(sql.type(agentRow)`
    update agents a set status = ${status}, published_version = null, updated_at = now()
    where a.tenant_id = ${scope.tenantId} and a.id = ${id}
    returning ${columns}, a.document`);
}

/** Makes the given version the published one. */
export function publishVersion(
  scope: TenantScope,
  tx: TenantTransaction,
  id: string,
  live: {
    readonly version: number;
    readonly rateLimit: number | null;
    readonly allowedUsers: readonly string[];
  },
): Promise<AgentRow> {
  return tx.one(sql.type(agentRow)`
    update agents a set status = 'published', published_version = ${live.version}, last_version = ${live.version},
      rate_limit = ${live.rateLimit}, allowed_users = ${sql.array([...live.allowedUsers], 'uuid')},
      updated_at = now()
    where a.tenant_id = ${scope.tenantId} and a.id = ${id}
    returning ${columns}, a.document`);
}

/** The names of agents of the tenant, archived ones included, by id. */
export async function namesOfAgents(
  scope: TenantScope,
  tx: TenantTransaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.any(sql.type(z.object({ id: z.string(), name: z.string().nullable() }))`
    select id, document ->> 'name' as name from agents
    where tenant_id = ${scope.tenantId} and id = any(${sql.array([...ids], 'uuid')})`);
  return new Map(rows.map(({ id, name }) => [id, name ?? id]));
}
