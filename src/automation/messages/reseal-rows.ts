import { z } from 'zod';
import { tenantScope } from '../../kernel/tenant-scope.js';
import type { Sealer } from '../../infra/sealing/index.js';
import { type DirectoryTransaction, sql, type Store } from '../../infra/storage/index.js';
import { MessageSealer } from './message-payload.js';

/** The rows of one transaction; few, so that locked messages wait only a moment. */
const rowsMax = 1_000;

type Table = ReturnType<typeof sql.fragment>;

const sealedRow = z.object({ tenant_id: z.uuid(), row: z.string(), sealed: z.instanceof(Buffer) });

/** Seals the column `sealed` of the caller's table again under the current master key, in the rows of every tenant. */
export async function resealRows(store: Store, table: Table, sealer: Sealer): Promise<void> {
  const seal = new MessageSealer(sealer);
  let count = rowsMax;
  while (count === rowsMax) count = await store.directory((tx) => resealSome(tx, table, seal, sealer));
}

async function resealSome(
  tx: DirectoryTransaction,
  table: Table,
  seal: MessageSealer,
  { mark }: Sealer,
): Promise<number> {
  const rows = await tx.any(sql.type(sealedRow)`
    select tenant_id, ctid::text as row, sealed from ${table}
    where sealed <> '' and substring(sealed from 1 for ${mark.byteLength}) <> ${sql.binary(Buffer.from(mark))}
    limit ${rowsMax} for update`);
  for (const { tenant_id, row, sealed } of rows) {
    const anew = seal.anew(tenantScope(tenant_id), sealed);
    // The row cannot move while it is locked.
    await tx.query(sql.typeAlias('nothing')`
      update ${table} set sealed = ${sql.binary(anew)} where ctid = ${row}::tid`);
  }
  return rows.length;
}
