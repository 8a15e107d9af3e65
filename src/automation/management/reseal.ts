import { z } from 'zod';
import { tenantScope } from '../../kernel/tenant-scope.js';
import type { Sealer } from '../../infra/sealing/index.js';
import { type DirectoryTransaction, sql, type Store } from '../../infra/storage/index.js';
import { MessageSealer } from '../messages/message-payload.js';

/** Of one transaction, so that a message that is locked waits only a moment. */
const rowsMax = 1_000;

/** Messages and answers of every tenant, by where they are kept. */
const places = [sql.fragment`trigger_inbox`, sql.fragment`trigger_replies`, sql.fragment`deliveries`];
type Place = (typeof places)[number];

const sealedRow = z.object({ tenant_id: z.uuid(), row: z.string(), sealed: z.instanceof(Buffer) });

/** Seals what triggers keep anew under the current master key. Not before every node knows it. */
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
    // Where the row is stays so while it is locked.
    await tx.query(sql.typeAlias('nothing')`
      update ${place} set sealed = ${sql.binary(anew)} where ctid = ${row}::tid`);
  }
  return rows.length;
}
