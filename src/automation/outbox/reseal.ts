import type { Sealer } from '../../infra/sealing/index.js';
import { sql, type Store } from '../../infra/storage/index.js';
import { resealRows } from '../messages/reseal-rows.js';

export async function resealAnswers(store: Store, sealer: Sealer): Promise<void> {
  await resealRows(store, sql.fragment`trigger_replies`, sealer);
  await resealRows(store, sql.fragment`deliveries`, sealer);
}
