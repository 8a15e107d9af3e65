import type { Sealer } from '../../infra/sealing/index.js';
import type { Store } from '../../infra/storage/index.js';
import { lockStaleResponses, replaceSealed } from './responses.store.js';
import { placeOf } from './sealed-place.js';

/** The rows of one transaction; a row may be large. */
const rowsMax = 20;

/**
 * Seals every stored response again under the current master key. Must not run before every node knows that key.
 */
export async function resealResponses(store: Store, sealer: Sealer): Promise<void> {
  let count = rowsMax;
  while (count === rowsMax) count = await resealSome(store, sealer);
}

function resealSome(store: Store, sealer: Sealer): Promise<number> {
  return store.directory(async (tx) => {
    const rows = await lockStaleResponses(tx, sealer.mark, rowsMax);
    for (const { tenant_id: tenantId, id, sealed } of rows) {
      const place = placeOf(tenantId, id);
      await replaceSealed(tx, { tenantId, id, sealed: sealer.seal(sealer.open(sealed, place), place) });
    }
    return rows.length;
  });
}
