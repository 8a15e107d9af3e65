import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type Store, sql, type TenantTransaction } from '../../infra/storage/index.js';
import type { CostReservation, Reservation } from '../../tenancy/quota/index.js';
import type { OpenedRow } from './usage.store.js';

const attempt = z.object({
  attempt_id: z.string(),
  process: z.string(),
  tokens: z.number(),
  within_ms: z.number(),
});

/** More attempts than one tenant can have under way. */
const attemptsMax = 20_000;

/**
 * A tenant's running attempts, by their open rows. The row of a cluster member names its process with a prefix that
 * distinguishes members from other processes.
 */
export async function openAttempts(store: Store, scope: TenantScope): Promise<readonly Reservation[]> {
  const rows = await store.inTenant(scope, (tx) =>
    tx.any(sql.type(attempt)`
      select attempt_id::text, coalesce(regexp_replace(process_id, '^member-', ''), '') as process,
        input_estimate + output_estimate as tokens,
        ceil(greatest(0, extract(epoch from deadline_at - clock_timestamp()) * 1000))::float8 as within_ms
      from usage_rows
      where tenant_id = ${scope.tenantId} and outcome is null and payer = 'platform'
      order by deadline_at limit ${attemptsMax}`),
  );
  return rows.map(({ attempt_id: attemptId, process, tokens, within_ms: withinMs }) => ({
    attemptId,
    process,
    tokens,
    withinMs,
  }));
}

const cost = z.object({
  attempt_id: z.string(),
  process: z.string(),
  nanos: z.number(),
  within_ms: z.number(),
  key_id: z.string().nullable(),
  agent_id: z.string().nullable(),
});

/** The estimated costs of a tenant's running attempts, whoever pays. */
export async function openCosts(store: Store, scope: TenantScope): Promise<readonly CostReservation[]> {
  const rows = await store.inTenant(scope, (tx) =>
    tx.any(sql.type(cost)`
      select attempt_id::text, coalesce(regexp_replace(process_id, '^member-', ''), '') as process,
        round(cost_estimate::numeric * 1000000000)::bigint as nanos,
        ceil(greatest(0, extract(epoch from deadline_at - clock_timestamp()) * 1000))::float8 as within_ms,
        key_id, agent_id
      from usage_rows
      where tenant_id = ${scope.tenantId} and outcome is null
      order by deadline_at limit ${attemptsMax}`),
  );
  return rows.map((row) => ({
    attemptId: row.attempt_id,
    process: row.process,
    nanos: row.nanos,
    withinMs: row.within_ms,
    keyId: row.key_id,
    agentId: row.agent_id,
  }));
}

/** With the values of the opening: through any index the row is found in few steps. A closed row stays. */
export async function removeOpen(
  tx: TenantTransaction,
  row: Pick<OpenedRow, 'attempt_id' | 'opened_at'>,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    delete from usage_rows
    where tenant_id = ${tx.scope.tenantId} and attempt_id = ${row.attempt_id}
      and opened_at = ${row.opened_at}::timestamptz and closed_at is null`);
}

const id = z.object({ attempt_id: z.string() });

/** Two attempts under one id differ in the moment of their opening. */
export async function isOfAnother(
  tx: TenantTransaction,
  row: Pick<OpenedRow, 'attempt_id' | 'opened_at'>,
): Promise<boolean> {
  const others = await tx.any(sql.type(id)`
    select attempt_id::text from usage_rows
    where tenant_id = ${tx.scope.tenantId} and attempt_id = ${row.attempt_id}
      and opened_at <> ${row.opened_at}::timestamptz`);
  return others.length > 0;
}
