import { z } from 'zod';
import { tenantScope } from '../../kernel/tenant-scope.js';
import type { Sealer } from '../../infra/sealing/index.js';
import { type DirectoryTransaction, sql, type Store } from '../../infra/storage/index.js';
import { placeOf } from './sealed-place.js';

/** The rows of one transaction; an answer may be large. */
const rowsMax = 100;

const staleRow = z.object({ tenant_id: z.uuid(), seed: z.uuid(), sealed_answer: z.instanceof(Buffer) });
type StaleRow = z.output<typeof staleRow>;

/**
 * Seals the kept answers of all tenants again under the current master key. Must not run before every node knows that
 * key.
 */
export async function resealKeptAnswers(store: Store, sealer: Sealer): Promise<void> {
  let last: StaleRow | undefined;
  do {
    const after = last;
    const rows = await store.directory((tx) => resealSome(tx, sealer, after));
    last = rows.length < rowsMax ? undefined : rows.at(-1);
  } while (last !== undefined);
}

/** Expired answers are left out: they are never opened, and the sweep deletes them. */
async function resealSome(
  tx: DirectoryTransaction,
  sealer: Sealer,
  after: StaleRow | undefined,
): Promise<readonly StaleRow[]> {
  const { mark } = sealer;
  const rest =
    after === undefined
      ? sql.fragment``
      : sql.fragment`and (tenant_id, seed) > (${after.tenant_id}::uuid, ${after.seed}::uuid)`;
  const rows = await tx.any(sql.type(staleRow)`
    select tenant_id, seed, sealed_answer from idempotent_requests
    where substring(sealed_answer from 1 for ${mark.byteLength}) <> ${sql.binary(Buffer.from(mark))}
      and expires_at > now() ${rest}
    order by tenant_id, seed limit ${rowsMax} for update`);
  for (const { tenant_id, seed, sealed_answer: sealed } of rows) {
    const place = placeOf(tenantScope(tenant_id), seed);
    const anew = sealer.seal(sealer.open(sealed, place), place);
    await tx.query(sql.typeAlias('nothing')`
      update idempotent_requests set sealed_answer = ${sql.binary(anew)}
      where tenant_id = ${tenant_id} and seed = ${seed}`);
  }
  return rows;
}
