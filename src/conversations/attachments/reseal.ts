import { z } from 'zod';
import { tenantScope } from '../../kernel/tenant-scope.js';
import type { Sealer } from '../../infra/sealing/index.js';
import { type DirectoryTransaction, sql, type Store } from '../../infra/storage/index.js';
import { placeOf } from './attachments.js';

/** Few, since each may have five megabytes. */
const rowsMax = 10;

const row = z.object({ tenant_id: z.uuid(), id: z.uuid(), sealed: z.instanceof(Buffer) });

/** Seals the attachments of all tenants again under the current master key. */
export async function resealAttachments(store: Store, sealer: Sealer): Promise<void> {
  let count = rowsMax;
  while (count === rowsMax) count = await store.directory((tx) => resealSome(tx, sealer));
}

async function resealSome(tx: DirectoryTransaction, sealer: Sealer): Promise<number> {
  const { mark } = sealer;
  const rows = await tx.any(sql.type(row)`
    select tenant_id, id, sealed from attachments
    where substring(sealed from 1 for ${mark.byteLength}) <> ${sql.binary(Buffer.from(mark))}
    limit ${rowsMax} for update`);
  for (const { tenant_id, id, sealed } of rows) {
    const place = placeOf(tenantScope(tenant_id), id);
    const anew = sealer.seal(sealer.open(sealed, place), place);
    await tx.query(sql.typeAlias('nothing')`
      update attachments set sealed = ${sql.binary(anew)} where tenant_id = ${tenant_id} and id = ${id}`);
  }
  return rows.length;
}
