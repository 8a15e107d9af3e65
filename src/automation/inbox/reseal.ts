import type { Sealer } from '../../infra/sealing/index.js';
import { sql, type Store } from '../../infra/storage/index.js';
import { resealRows } from '../messages/reseal-rows.js';

export function resealMessages(store: Store, sealer: Sealer): Promise<void> {
  return resealRows(store, sql.fragment`trigger_inbox`, sealer);
}
