import type { Sealer } from '../../infra/sealing/index.js';
import type { Store } from '../../infra/storage/index.js';
import { resealMessages } from '../inbox/reseal.js';
import { resealAnswers } from '../outbox/reseal.js';

/**
 * Seals the stored values of triggers again under the current master key. Must not run before every node knows that
 * key.
 */
export async function resealTriggers(store: Store, sealer: Sealer): Promise<void> {
  await resealMessages(store, sealer);
  await resealAnswers(store, sealer);
}
