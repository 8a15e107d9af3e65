import type { ChangeFeed, Store } from '../../infra/storage/index.js';
import { actorOf, type TenantCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { ConsumersSubject } from '../consumers/index.js';
import { countsOfPerson, countsOfSession, eraseRefused, sessionsOfConsumer } from './erasure.store.js';
import type { Sessions } from './sessions.js';

const sessionsAtOnce = 8;
const batchMax = 200;
const refusedMax = 1_000;
/** Longer than the feed counts as fresh without a read. */
const settledWithinMs = 2_500;

export interface ConsumerErasureParts {
  readonly store: Store;
  readonly feed: ChangeFeed;
  readonly sessions: Pick<Sessions, 'erasePerson'>;
  readonly isKnownConsumer: (scope: TenantScope, consumerKey: string) => Promise<boolean>;
  readonly erasePerson: ConsumersSubject['erasePerson'];
  /** Deletes the person's messages that triggers have accepted and no execution has received. Returns how many. */
  readonly forgetAccepted: (scope: TenantScope, consumerKey: string) => Promise<number>;
}

export interface ErasedCounts {
  sessions: number;
  messages: number;
  executions: number;
}

/**
 * Erases the sessions, or the person's part of those with others, first and the profile last: after a failure in between
 * the consumer is still known, and the same request erases the rest.
 */
export async function eraseConsumer(
  { store, feed, sessions, isKnownConsumer, erasePerson, forgetAccepted }: ConsumerErasureParts,
  caller: TenantCaller,
  key: string,
): Promise<ErasedCounts> {
  const { scope } = caller;
  const listed = (): Promise<readonly string[]> =>
    store.inTenant(scope, (tx) => sessionsOfConsumer(tx, key, batchMax));
  let batch = await listed();
  const erased: ErasedCounts = { sessions: 0, messages: 0, executions: 0 };
  const by = actorOf(caller);
  const eraseAllRefused = async (): Promise<void> => {
    let refused = refusedMax;
    while (refused === refusedMax) {
      refused = await store.inTenant(scope, (tx) => eraseRefused(tx, key, refusedMax));
      erased.executions += refused;
    }
  };
  // Of a person who was refused, or whose first message waits, nothing else may be there.
  await eraseAllRefused();
  const accepted = await forgetAccepted(scope, key);
  // One that a process had taken up before has made its session meanwhile.
  batch = await listed();
  const isKnown = batch.length > 0 || erased.executions > 0 || accepted > 0;
  if (!isKnown && !(await isKnownConsumer(scope, key)))
    throw new PlatformError('not_found', { message: 'The consumer was not found.' });
  while (batch.length > 0) {
    const waiting = [...batch];
    const eraseNext = async (): Promise<void> => {
      for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
        const sessionId = id;
        const [whole, own] = await store.inTenant(scope, async (tx) => [
          await countsOfSession(tx, sessionId),
          await countsOfPerson(tx, sessionId, key),
        ]);
        const isGone = await sessions.erasePerson(scope, sessionId, key, by);
        const counts = isGone ? whole : own;
        erased.sessions += isGone ? 1 : 0;
        erased.messages += counts.messages;
        erased.executions += counts.executions;
      }
    };
    await Promise.all(Array.from({ length: sessionsAtOnce }, eraseNext));
    batch = await listed();
  }
  await eraseAllRefused();
  const change = await store.inTenant(scope, (tx) => erasePerson(tx, { key, actor: by, erased }));
  if (change !== undefined) await feed.reached(change, settledWithinMs);
  return erased;
}
