import { type Store, sql } from '../../infra/storage/index.js';

export interface KeyUseRow {
  readonly tenantId: string;
  readonly keyId: string;
  readonly requests: number;
  readonly lastUsedAt: Date;
}

/** Long after the last moment at which a batch could be repeated. */
const batchesKept = '1 hour';

/**
 * Adds a batch of uses of keys of any tenant. Repeating a batch with the same id changes nothing, so a batch with an
 * unknown outcome is sent again. Rows are locked in key order: two nodes that add to the same keys wait for each other
 * and do not deadlock.
 */
export async function addUses(store: Store, batchId: string, rows: readonly KeyUseRow[]): Promise<void> {
  const given = sql.unnest(
    rows.map(({ tenantId, keyId, requests, lastUsedAt }) => [
      tenantId,
      keyId,
      requests,
      lastUsedAt.toISOString(),
    ]),
    ['uuid', 'uuid', 'int8', 'timestamptz'],
  );
  await store.directory(async (tx) => {
    await tx.query(sql.typeAlias('nothing')`
      with batch as (
        insert into api_key_use_batches (id) values (${batchId}) on conflict do nothing returning id
      ),
      given (tenant_id, key_id, requests, used_at) as (select * from ${given}),
      locked as (
        select u.tenant_id, u.key_id, given.requests, given.used_at
        from batch cross join given join api_key_use u on u.tenant_id = given.tenant_id and u.key_id = given.key_id
        order by u.tenant_id, u.key_id
        for update of u
      )
      update api_key_use u
      set total_requests = u.total_requests + locked.requests,
        last_used_at = greatest(u.last_used_at, locked.used_at)
      from locked where u.tenant_id = locked.tenant_id and u.key_id = locked.key_id`);
  });
}

export async function forgetOldBatches(store: Store): Promise<void> {
  await store.directory((tx) =>
    tx.query(
      sql.typeAlias('nothing')`
        delete from api_key_use_batches where added_at < now() - ${batchesKept}::interval`,
    ),
  );
}
