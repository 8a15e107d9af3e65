import { z } from 'zod';
import { sql, type TenantTransaction } from '../../infra/storage/index.js';

const factsRow = z.object({ facts: z.array(z.string()), updated_at: z.date() });
export type ConsumerFacts = z.output<typeof factsRow>;

/** What agents remember of a consumer. */
export interface FactsRow {
  readonly tenant_id: string;
  readonly consumer_key: string;
  readonly facts: readonly string[];
  /** When the facts were read from which these were made, ISO 8601. Later ones, and a later deletion, are not overwritten. */
  readonly updated_at: string;
}

/** Facts of many tenants, as a JSON list in `$1`, in the transactions of their sessions. */
export const factsStatement = {
  name: 'consumer_facts_keep',
  text: `insert into consumer_facts as c (tenant_id, consumer_key, facts, updated_at)
    select distinct on (tenant_id, consumer_key) tenant_id, consumer_key, facts, updated_at
    from jsonb_to_recordset($1::jsonb)
      as w (tenant_id uuid, consumer_key text, facts jsonb, updated_at timestamptz)
    order by tenant_id, consumer_key, updated_at desc
    on conflict (tenant_id, consumer_key) do update set facts = excluded.facts, updated_at = excluded.updated_at
      where c.updated_at < excluded.updated_at`,
} as const;

export function findFacts(tx: TenantTransaction, key: string): Promise<ConsumerFacts | null> {
  return tx.maybeOne(sql.type(factsRow)`
    select facts, updated_at from consumer_facts
    where tenant_id = ${tx.scope.tenantId} and consumer_key = ${key}`);
}

/**
 * Leaves an empty list, so that a summary which is under way does not bring back what it has read before. False if there
 * was no list.
 */
export async function forgetFacts(tx: TenantTransaction, key: string): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update consumer_facts set facts = '[]', updated_at = now()
    where tenant_id = ${tx.scope.tenantId} and consumer_key = ${key}`);
  return rowCount > 0;
}

export async function eraseFacts(tx: TenantTransaction, key: string): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    delete from consumer_facts where tenant_id = ${tx.scope.tenantId} and consumer_key = ${key}`);
}
