// The public interface of keys: authentication and administration of API keys.
import type { KeyCaller, VisitorCaller } from '../../kernel/caller.js';
import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Operation, PublicKeyUse } from '../../http/operations/index.js';
import type { FailedCredentials } from '../quota/index.js';
import type { Platform } from '../../infra/platform/index.js';
import { AddressChanges, type AddressListener } from './address-changes.js';
import { KeyAdministration } from './administration.js';
import { KnownKeys } from './known-keys.js';
import { KeyLookUps } from './look-ups.js';
import { KeyTokens } from './key-tokens.js';
import { type KeyRules, KeyRulesOf } from './key-rules.js';
import { findAllowedIps, findHash, findRevoked, findRules } from './lookup.store.js';
import { keyOperations } from './operations.js';
import { type EndedKeyListener, Revocations } from './revocations.js';
import { KeyUse } from './use.js';
import { addUses, forgetOldBatches } from './use.store.js';

export {
  type CreatedKey,
  KeyAdministration,
  type KeyView,
  type KeyRequest,
  type Page,
} from './administration.js';
export { namesOfKeys } from './creators.js';
export { lastUseOfTenants } from './last-use.store.js';
export { forgetKeys, revokeAllKeys, revokeKeysOf } from './keys.store.js';
export { type KeyPrefix, keyPrefixes } from './key-text.js';
export { makeVisitorSecret } from './public-use.js';
export type { KeyRules } from './key-rules.js';
export { roleNow } from './role-now.js';
export type { EndedKey, EndedKeyListener } from './revocations.js';
export { type KeyStatus, operatorKey } from './shapes.js';
export { type Tier, tierOf } from './tiers.js';

export type KeysPlatform = Pick<Platform, 'store' | 'reads' | 'changes' | 'time' | 'ids' | 'random' | 'log'>;

export interface KeysOptions {
  /** The maximum number of keys cached in memory. */
  readonly keysMax?: number;
  /** Counts wrong keys by address; without it they are not counted. */
  readonly failures?: FailedCredentials;
}

export interface Keys {
  readonly operations: readonly Operation[];
  readonly administration: KeyAdministration;
  /** Throws `invalid_api_key`. Without a promise if the key is in memory. Counts one request of the key. */
  authenticateKey(apiKey: string, address: string): KeyCaller | Promise<KeyCaller>;
  /** The key that a verified access token names. Throws `invalid_api_key` if the key has ended. */
  authenticateKeyToken(
    named: { readonly keyId: string; readonly tenantId: string },
    address: string,
  ): KeyCaller | Promise<KeyCaller>;
  /** A visitor of a page with a public key. Throws `invalid_api_key` or `origin_not_allowed`. */
  authenticateVisitor(use: PublicKeyUse): Ready<VisitorCaller>;
  /** Whether pages of the origin may use the public key; the same errors. */
  allowsOrigin(use: Omit<PublicKeyUse, 'secret'>): Ready<boolean>;
  /** What a key of the tenant may ask for and spend, for work that its request began. */
  rulesOf(scope: TenantScope, keyId: string): Ready<KeyRules>;
  /**
   * Calls the listener within a second for each key that was revoked anywhere, and for each that expired after it was
   * used here, so that open connections of the key can be closed. The returned function unsubscribes.
   */
  onRevoked(listener: EndedKeyListener): () => void;
  /**
   * Calls the listener within a second for each key whose addresses were restricted anywhere. The returned function
   * unsubscribes.
   */
  onAddressesChanged(listener: AddressListener): () => void;
  /** Writes the uses that are not yet in the store. Call it before the store is closed. */
  stop(): Promise<void>;
}

/** Longer than the feed counts as fresh without a read: after that, this node no longer trusts its cache. */
const settledWithinMs = 2_500;

export function createKeys(
  { store, reads, changes: feed, time, ids, random, log: { report } }: KeysPlatform,
  { keysMax = 100_000, failures }: KeysOptions = {},
): Keys {
  const administration = new KeyAdministration({ store, time, random });
  const use = new KeyUse({
    add: (batchId, rows) => addUses(store, batchId, rows),
    forgetOldBatches: () => forgetOldBatches(store),
    time,
    ids,
    report,
  });
  const lookUps = new KeyLookUps(reads, time);
  const known = new KnownKeys({
    find: (hash, behindOthers) => lookUps.find(hash, behindOthers),
    failures,
    isFresh: () => feed.isFresh(),
    time,
    keysMax,
    onUse(key) {
      use.count(key);
      revocations.noteUse(key);
    },
  });
  const keyTokens = new KeyTokens({ known, findHash: (named) => findHash(store, named), keysMax });
  const rules = new KeyRulesOf({
    known: (keyId) => known.rulesOf(keyId),
    find: (scope, keyId) => findRules(store, scope, keyId),
    isFresh: () => feed.isFresh(),
    keysMax,
  });
  const revocations = new Revocations({
    feed,
    known,
    rules,
    findRevoked: (hashes) => findRevoked(store, hashes),
    time,
    report,
    keysMax,
  });
  const addresses = new AddressChanges({
    feed,
    find: (scope, keyId) => findAllowedIps(store, scope, keyId),
    time,
    report,
  });
  return {
    administration,
    operations: keyOperations({
      administration,
      // If the flush fails, the figures lack the last seconds, which is better than an error.
      flushUse: () => use.flush().catch((error: unknown) => report('add up the use of keys', error)),
      report,
      settled: async (change) => {
        await feed.reached(change, settledWithinMs);
      },
    }),
    authenticateKey: (apiKey, address) => known.authenticate(apiKey, address),
    authenticateKeyToken: (named, address) => keyTokens.authenticate(named, address),
    authenticateVisitor: (given) => known.authenticateVisitor(given),
    allowsOrigin: (given) => known.allowsOrigin(given),
    rulesOf: (scope, keyId) => rules.get(scope, keyId),
    onRevoked: (listener) => revocations.onEnded(listener),
    onAddressesChanged: (listener) => addresses.listen(listener),
    async stop() {
      await revocations.stop();
      await addresses.stop();
      await use.stop();
    },
  };
}
