import type { ChangeFeed, Store } from '../../infra/storage/index.js';
import { actorOf, type TenantCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { ConsumersSubject } from '../consumers/index.js';
import { countsOfSession, sessionsOfConsumer } from './erasure.store.js';
import type { Sessions } from './sessions.js';

const sessionsAtOnce = 8;
const batchMax = 200;
/** Longer than the feed counts as fresh without a read. */
const settledWithinMs = 2_500;

export interface ConsumerErasureParts {
  readonly store: Store;
  readonly feed: ChangeFeed;
  readonly sessions: Pick<Sessions, 'eraseKnown'>;
  readonly isKnownConsumer: (scope: TenantScope, consumerKey: string) => Promise<boolean>;
  readonly erasePerson: ConsumersSubject['erasePerson'];
}

export interface ErasedCounts {
  sessions: number;
  messages: number;
  executions: number;
}

/**
 * Erases the sessions first and the profile last: after a failure in between the consumer is still known, and the same
 * request erases the rest.
 */
export async function eraseConsumer(
  { store, feed, sessions, isKnownConsumer, erasePerson }: ConsumerErasureParts,
  caller: TenantCaller,
  key: string,
): Promise<ErasedCounts> {
  const { scope } = caller;
  const listed = (): Promise<readonly string[]> =>
    store.inTenant(scope, (tx) => sessionsOfConsumer(tx, key, batchMax));
  let batch = await listed();
  if (batch.length === 0 && !(await isKnownConsumer(scope, key)))
    throw new PlatformError('not_found', { message: 'The consumer was not found.' });
  const erased: ErasedCounts = { sessions: 0, messages: 0, executions: 0 };
  const by = actorOf(caller);
  while (batch.length > 0) {
    const waiting = [...batch];
    const eraseNext = async (): Promise<void> => {
      for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
        const sessionId = id;
        const counts = await store.inTenant(scope, (tx) => countsOfSession(tx, sessionId));
        if (!(await sessions.eraseKnown(scope, sessionId, by))) continue;
        erased.sessions += 1;
        erased.messages += counts.messages;
        erased.executions += counts.executions;
      }
    };
    await Promise.all(Array.from({ length: sessionsAtOnce }, eraseNext));
    batch = await listed();
  }
  const change = await store.inTenant(scope, (tx) => erasePerson(tx, { key, actor: by, erased }));
  if (change !== undefined) await feed.reached(change, settledWithinMs);
  return erased;
}
