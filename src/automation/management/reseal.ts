import { z } from 'zod';
import { tenantScope } from '../../kernel/tenant-scope.js';
import type { Sealer } from '../../infra/sealing/index.js';
import { type DirectoryTransaction, sql, type Store } from '../../infra/storage/index.js';
import { MessageSealer } from '../messages/message-payload.js';

/** The rows of one transaction; few, so that locked messages wait only a moment. */
const rowsMax = 1_000;

/** The sealed messages and answers of every tenant, by table. */
const places = [sql.fragment`trigger_inbox`, sql.fragment`trigger_replies`, sql.fragment`deliveries`];
type Place = (typeof places)[number];

const sealedRow = z.object({ tenant_id: z.uuid(), row: z.string(), sealed: z.instanceof(Buffer) });

/**
 * Seals the stored values of triggers again under the current master key. Must not run before every node knows that
 * key.
 */
export async function resealTriggers(store: Store, sealer: Sealer): Promise<void> {
  const seal = new MessageSealer(sealer);
  for (const place of places) {
    let count = rowsMax;
    while (count === rowsMax) count = await store.directory((tx) => resealSome(tx, place, seal, sealer));
  }
}

async function resealSome(
  tx: DirectoryTransaction,
  place: Place,
  seal: MessageSealer,
  { mark }: Sealer,
): Promise<number> {
  const rows = await tx.any(sql.type(sealedRow)`
    select tenant_id, ctid::text as row, sealed from ${place}
    where sealed <> '' and substring(sealed from 1 for ${mark.byteLength}) <> ${sql.binary(Buffer.from(mark))}
    limit ${rowsMax} for update`);
  for (const { tenant_id, row, sealed } of rows) {
    const anew = seal.anew(tenantScope(tenant_id), sealed);
    // The row cannot move while it is locked.
    await tx.query(sql.typeAlias('nothing')`
      update ${place} set sealed = ${sql.binary(anew)} where ctid = ${row}::tid`);
  }
  return rows.length;
}
