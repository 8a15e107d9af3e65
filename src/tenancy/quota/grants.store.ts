import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type Store, sql, type TenantTransaction } from '../../infra/storage/index.js';
import type { Countable, GrantStore } from './grants.js';

/** The number of days for which a tenant's daily counts are kept. */
const daysKept = 40;

const booking = z.object({ block: z.number(), granted: z.number() });

/** Blocks of one kind of count, recorded in `work_counts`. */
export class PostgresGrants implements GrantStore {
  readonly #store: Store;
  readonly #kind: 'day' | 'key';

  constructor(store: Store, kind: 'day' | 'key') {
    this.#store = store;
    this.#kind = kind;
  }

  take({ scope, subject, limit }: Countable, wanted: number): Promise<{ block: number; granted: number }> {
    const kind = this.#kind;
    return this.#store.inTenant(scope, async (tx) => {
      // The conflicting row is locked and read in its newest version, so concurrent blocks of several nodes add up.
      const granted = await tx.one(sql.type(booking)`
        insert into work_counts as counts (tenant_id, kind, subject, granted, last_block)
        values (${scope.tenantId}, ${kind}, ${subject}, least(${wanted}::bigint, ${limit}::bigint),
          least(${wanted}::bigint, ${limit}::bigint))
        on conflict (tenant_id, kind, subject) do update set
          granted = counts.granted + greatest(0, least(${wanted}::bigint, ${limit}::bigint - counts.granted)),
          last_block = greatest(0, least(${wanted}::bigint, ${limit}::bigint - counts.granted))
        returning last_block as block, granted`);
      // The first block of a day deletes the counts of old days.
      if (kind === 'day' && granted.block === granted.granted) await clearDays(tx, subject);
      return granted;
    });
  }

  clearDaysBefore(scope: TenantScope, day: string): Promise<void> {
    return this.#store.inTenant(scope, (tx) => clearDays(tx, day));
  }

  async giveBack(scope: TenantScope, subject: string, rest: number): Promise<void> {
    await this.#store.inTenant(
      scope,
      (tx) =>
        tx.query(sql.typeAlias('nothing')`
          update work_counts set granted = greatest(0, granted - ${rest}::bigint)
          where tenant_id = ${scope.tenantId} and kind = ${this.#kind} and subject = ${subject}`),
      { retriesMax: 0 },
    );
  }
}

/** Never the counts of today by the clock of PostgreSQL: the clock of the node that names `day` may be ahead. */
async function clearDays(tx: TenantTransaction, day: string): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    delete from work_counts
    where tenant_id = ${tx.scope.tenantId} and kind = 'day'
      and subject < to_char(
        least(${day}::date, (now() at time zone 'UTC')::date) - ${daysKept}::integer, 'YYYY-MM-DD')`);
}

/**
 * Removes the hold of an activation that ended in order with nothing under way, and those of earlier ones. An activation
 * that took over since has its own hold.
 */
export async function dropHold(store: Store, scope: TenantScope, epoch: number): Promise<void> {
  await store.inTenant(scope, (tx) =>
    tx.query(sql.typeAlias('nothing')`
      update token_holds set held = 0, reserves_costs = false where tenant_id = ${scope.tenantId} and epoch <= ${epoch}`),
  );
}
