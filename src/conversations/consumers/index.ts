// The public interface of consumers: the people that integrations name, across all sessions, and the denylist.
import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Operation } from '../../http/operations/index.js';
import type { Platform } from '../../infra/platform/index.js';
import type { KeyedHash } from '../../infra/sealing/index.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import { Consumers, type FiguresOf } from './consumers.js';
import { nameStatement } from './consumers.store.js';
import { Denylist } from './denylist.js';
import { erasedKey, erasedKeys, erasePerson } from './erasure.js';
import { findFacts } from './facts.store.js';
import { memoryOperations } from './memory-operations.js';
import { consumerOperations } from './operations.js';

export { type FactsRow, factsStatement } from './facts.store.js';
export { type ConsumerTouch, touchConsumer, touchStatement } from './consumers.store.js';

export { consumerRemovals } from './removal.store.js';
export { denylistTopic } from './denylist.js';

export interface ConsumersSubject {
  readonly operations: readonly Operation[];
  /** Whether the tenant denies this consumer; without a query once the tenant's list is cached. */
  isDenied(scope: TenantScope, consumerKey: string): Ready<boolean>;
  /** Whether this consumer was seen or denied before. */
  isKnown(scope: TenantScope, consumerKey: string): Promise<boolean>;
  /** The consumer's display name; undefined if none is known. */
  nameOf(scope: TenantScope, consumerKey: string): Promise<string | undefined>;
  /** The facts that agents remember of this consumer. */
  factsOf(scope: TenantScope, consumerKey: string): Promise<readonly string[]>;
  /**
   * Erases profile, facts, events and names in the audit log; a block stays under a keyed hash. Returns the number of
   * the denylist's change, if any.
   */
  erasePerson(tx: TenantTransaction, erasure: Parameters<typeof erasePerson>[2]): Promise<number | undefined>;
  stop(): void;
}

export function createConsumers(
  platform: Pick<Platform, 'store' | 'reads' | 'changes' | 'time'>,
  { figuresOf, hash }: { readonly figuresOf: FiguresOf; readonly hash: KeyedHash },
): ConsumersSubject {
  const { store, reads, changes: feed, time } = platform;
  const erased = (scope: TenantScope, key: string): readonly string[] =>
    erasedKeys(hash, scope.tenantId, key);
  const denylist = new Denylist(reads, feed, erased);
  const consumers = new Consumers({
    store,
    feed,
    figuresOf,
    time,
    erasedKeys: erased,
    erasedKey: (scope, key) => erasedKey(hash, scope.tenantId, key),
  });
  return {
    operations: [...consumerOperations(consumers), ...memoryOperations(store, consumers)],
    isKnown: async (scope, consumerKey) =>
      (await reads.inTenant(scope, nameStatement, [scope.tenantId, consumerKey])).length > 0,
    nameOf: async (scope, consumerKey) => {
      const [found] = await reads.inTenant(scope, nameStatement, [scope.tenantId, consumerKey]);
      return found?.display_name ?? undefined;
    },
    factsOf: async (scope, consumerKey) =>
      (await store.inTenant(scope, (tx) => findFacts(tx, consumerKey)))?.facts ?? [],
    isDenied: (scope, consumerKey) => denylist.isDenied(scope, consumerKey),
    erasePerson: (tx, erasure) => erasePerson(tx, hash, erasure),
    stop: () => denylist.stop(),
  };
}
