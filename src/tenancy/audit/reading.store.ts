import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

const entryRow = z.object({
  id: z.uuid(),
  recorded_at: z.date(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  target_name: z.string().nullable(),
  address: z.string().nullable(),
  request_id: z.string().nullable(),
  changes: z.record(z.string(), z.object({ old: z.unknown(), new: z.unknown() })),
  outcome: z.enum(['done', 'refused']),
});
export type EntryRow = z.output<typeof entryRow>;

export interface EntryFilter {
  readonly limit: number;
  readonly after: { readonly at: Date; readonly id: string } | undefined;
  /** The ids of the actor and of the target. */
  readonly actor?: string | undefined;
  readonly target?: string | undefined;
  readonly action?: string | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

/** Newest first. */
export function listEntries(tx: TenantTransaction, filter: EntryFilter): Promise<readonly EntryRow[]> {
  const { limit, after, actor, target, action, from, to } = filter;
  const conditions = [
    sql.fragment`tenant_id = ${tx.scope.tenantId}`,
    ...(actor === undefined ? [] : [sql.fragment`actor_id = ${actor}`]),
    ...(target === undefined ? [] : [sql.fragment`target_id = ${target}`]),
    ...(action === undefined ? [] : [sql.fragment`action = ${action}`]),
    ...(from === undefined ? [] : [sql.fragment`recorded_at >= ${from.toISOString()}::timestamptz`]),
    ...(to === undefined ? [] : [sql.fragment`recorded_at < ${to.toISOString()}::timestamptz`]),
    ...(after === undefined
      ? []
      : [sql.fragment`(recorded_at, id) < (${after.at.toISOString()}::timestamptz, ${after.id}::uuid)`]),
  ];
  return tx.any(sql.type(entryRow)`
    select id, recorded_at, actor, action, subject, target_name, address, request_id, changes, outcome
    from audit_entries where ${sql.join(conditions, sql.fragment` and `)}
    order by recorded_at desc, id desc limit ${limit}`);
}

/** Those of the subjects that something was done to. */
export function subjectsOfActs(
  tx: TenantTransaction,
  subjects: readonly string[],
): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(z.object({ subject: z.string() }))`
    select wanted.subject from unnest(${sql.array([...subjects], 'text')}) as wanted (subject)
    where exists (select from audit_entries e
      where e.tenant_id = ${tx.scope.tenantId} and e.subject = wanted.subject and e.outcome = 'done')`);
}
