import { z } from 'zod';
import { type DirectoryTransaction, sql, type Store } from '../storage/index.js';

export interface ErrorRow {
  readonly id: string;
  readonly error: string;
  readonly message: string;
  readonly timestamp: string;
  readonly request_id: string | null;
  readonly operation: string | null;
  readonly tenant: string | null;
  readonly execution_id: string | null;
  readonly agent_id: string | null;
  readonly trigger_id: string | null;
}

/** What a tenant asks of its errors. */
export interface ErrorFilter {
  readonly id?: string | undefined;
  readonly code?: string | undefined;
  readonly requestId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly triggerId?: string | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  readonly after: { readonly at: Date; readonly id: string } | undefined;
  readonly limit: number;
}

const shown = z.object({
  id: z.string(),
  error: z.string(),
  message: z.string(),
  at: z.date(),
  node: z.string(),
  request_id: z.string().nullable(),
  operation: z.string().nullable(),
  tenant: z.string().nullable(),
  execution_id: z.string().nullable(),
  agent_id: z.string().nullable(),
  trigger_id: z.string().nullable(),
});
export type ShownError = z.output<typeof shown>;

const columns = sql.fragment`
  e.id, e.code as error, e.message, e.occurred_at as at, e.node, e.request_id, e.operation, e.about_tenant as tenant,
  e.execution_id, e.about_agent as agent_id, e.about_trigger as trigger_id`;

/** The newest of all; more than are shown, because numbers may have gaps. */
const rowsKept = 2_000;
/** Of older rows, the newest of each tenant stay: one noisy tenant does not push out the errors of another. */
const rowsOfTenantKept = 500;
const keptMs = 7 * 24 * 3_600_000;

const moment = (at: Date) => sql.fragment`${at.toISOString()}::timestamptz`;

/** Adds the errors of a node and removes those that nobody sees any more. */
export async function insertErrors(
  store: Store,
  node: string,
  rows: readonly ErrorRow[],
  now: Date,
): Promise<void> {
  const tenants = [...new Set(rows.flatMap(({ tenant }) => (tenant === null ? [] : [tenant])))];
  await store.directory(async (tx) => {
    await tx.query(sql.typeAlias('nothing')`
      insert into recent_errors (id, occurred_at, node, code, message, request_id, operation, about_tenant,
        execution_id, about_agent, about_trigger)
      select id, "timestamp", ${node}, error, message, request_id, operation, tenant, execution_id, agent_id, trigger_id
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (id uuid, "timestamp" timestamptz, error text,
        message text, request_id text, operation text, tenant uuid, execution_id uuid, agent_id uuid,
        trigger_id uuid)`);
    await removeOld(tx, tenants, new Date(now.getTime() - keptMs));
  });
}

/** A node whose clock is ahead removes only what PostgreSQL calls old as well. */
async function removeOld(tx: DirectoryTransaction, tenants: readonly string[], before: Date): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    delete from recent_errors where about_tenant is null
      and number <= (select max(number) - ${rowsKept} from recent_errors)`);
  await tx.query(sql.typeAlias('nothing')`
    delete from recent_errors
    where occurred_at < least(${moment(before)}, now() - ${keptMs} * interval '1 millisecond')`);
  if (tenants.length === 0) return;
  await tx.query(sql.typeAlias('nothing')`
    delete from recent_errors e using unnest(${sql.array([...tenants], 'uuid')}) as noted (tenant)
    where e.about_tenant = noted.tenant and e.number <= (select max(number) - ${rowsKept} from recent_errors)
      and (e.occurred_at, e.id) < (
      select k.occurred_at, k.id from recent_errors k where k.about_tenant = noted.tenant
      order by k.occurred_at desc, k.id desc offset ${rowsOfTenantKept - 1} limit 1)`);
}

/** Newest first. */
export function listErrors(store: Store, limit: number): Promise<readonly ShownError[]> {
  return store.directory((tx) =>
    tx.any(sql.type(shown)`
      select ${columns} from recent_errors e order by e.occurred_at desc, e.number desc limit ${limit}`),
  );
}

/** Those of one tenant, newest first. */
export function listErrorsOf(
  store: Store,
  tenantId: string,
  filter: ErrorFilter,
): Promise<readonly ShownError[]> {
  const { after, from, to } = filter;
  const conditions = [
    sql.fragment`e.about_tenant = ${tenantId}`,
    ...(filter.id === undefined ? [] : [sql.fragment`e.id = ${filter.id}`]),
    ...(filter.code === undefined ? [] : [sql.fragment`e.code = ${filter.code}`]),
    ...(filter.requestId === undefined ? [] : [sql.fragment`e.request_id = ${filter.requestId}`]),
    ...(filter.agentId === undefined ? [] : [sql.fragment`e.about_agent = ${filter.agentId}`]),
    ...(filter.triggerId === undefined ? [] : [sql.fragment`e.about_trigger = ${filter.triggerId}`]),
    ...(from === undefined ? [] : [sql.fragment`e.occurred_at >= ${moment(from)}`]),
    ...(to === undefined ? [] : [sql.fragment`e.occurred_at < ${moment(to)}`]),
    ...(after === undefined
      ? []
      : [sql.fragment`(e.occurred_at, e.id) < (${moment(after.at)}, ${after.id}::uuid)`]),
  ];
  return store.directory((tx) =>
    tx.any(sql.type(shown)`
      select ${columns} from recent_errors e where ${sql.join(conditions, sql.fragment` and `)}
      order by e.occurred_at desc, e.id desc limit ${filter.limit}`),
  );
}

/** The tenant is deleted. */
export async function forgetErrorsOf(store: Store, tenantId: string): Promise<void> {
  await store.directory((tx) =>
    tx.query(sql.typeAlias('nothing')`delete from recent_errors where about_tenant = ${tenantId}`),
  );
}
