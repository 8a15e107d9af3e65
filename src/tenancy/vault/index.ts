import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Operation } from '../../http/operations/index.js';
import type { Platform } from '../../infra/platform/index.js';
import { nonces } from '../../infra/sealing/index.js';
import { type ChangeFeed, recordChange, type TenantTransaction } from '../../infra/storage/index.js';
import { destroyDataKeys } from './data-keys.store.js';
import { DataKeys } from './data-keys.js';
import { MasterKeys } from './master-keys.js';
import { secretOperations } from './operations.js';
import { ProviderKeyChanges } from './provider-key-changes.js';
import { type ReferenceFinder, References } from './references.js';
import {
  checkMasterKeys,
  rotateDataKey,
  rotateMasterKey,
  type RotationOptions,
  type RotationProgress,
} from './rotation.js';
import { Secrets } from './secrets.js';

export { allowsHost } from './allowed-hosts.js';
export {
  allowsPlace,
  isReadable,
  isUsualPlace,
  namedPlace,
  type Place,
  placeOfUrl,
  textOfPlace,
} from './places.js';
export {
  approvalOf,
  approves,
  type Destination,
  isApproved,
  mayNotSend,
  referenceOf,
  SecretsByReference,
} from './destinations.js';
export type { ReferenceFinder, SecretReference } from './references.js';
export type { RotationOptions, RotationProgress } from './rotation.js';
export { type ProviderKey, providerKeyTopic, readProviderKeys } from './provider-keys.store.js';
export { SecretValue } from './secret-value.js';
export type { SecretRef } from './secret-rules.js';
export type { ResolvedSecret, SecretInfo } from './secrets.js';
export { neededMasterKeys } from './rotation.store.js';
export { fingerprintOf } from './master-keys.js';
export { VaultError, type VaultFailure } from './vault-error.js';

export interface VaultParts {
  /** 32 bytes. */
  readonly masterKey: Uint8Array;
  /** Accepted during a rotation, for data keys that are still wrapped with them. */
  readonly previousMasterKeys?: readonly Uint8Array[];
  /** The vendors that a secret of kind `llm_key` may belong to. */
  readonly providers: () => readonly string[];
}

/** The secrets of tenants. Other subjects store references; only code that uses a secret reads its value. */
export interface Vault extends Pick<
  Secrets,
  'find' | 'keep' | 'resolve' | 'resolveAll' | 'providerKeys' | 'putNamed' | 'putOwned' | 'deleteOwned'
> {
  readonly operations: readonly Operation[];
  /** Refuses master keys that do not match the database. Required before anything is stored. */
  prepare(): Promise<void>;
  /** Registers a function that finds the uses of secrets in another subject. */
  addReferenceFinder(finder: ReferenceFinder): void;
  /** Wraps all data keys with this node's master key. */
  rotateMasterKey(actor: string, options?: RotationOptions): Promise<RotationProgress>;
  /** Seals a tenant's secrets again with a new data key. */
  rotateDataKey(scope: TenantScope, actor: string): Promise<{ readonly sealed: number }>;
}

/** The topic of destroyed data keys; the subject is the tenant. */
const destroyedTopic = 'vault-destroyed';

/** Destroys the data keys of a tenant that is being deleted, in the caller's transaction. */
export function destroyVault(tx: TenantTransaction): Promise<void> {
  return destroyDataKeys(tx.scope, tx);
}

/** One of the last statements of that transaction: every node drops the keys from its memory. */
export function announceDestroyedVault(tx: TenantTransaction): Promise<number> {
  const { tenantId } = tx.scope;
  return recordChange(tx, { topic: destroyedTopic, tenantId, subject: tenantId });
}

function dropDestroyed(changes: ChangeFeed, keys: DataKeys): void {
  // Ends with the feed.
  changes.subscribe(destroyedTopic, {
    onChange: ({ subject }) => keys.drop(subject),
    onDropEverything: () => keys.drop(),
  });
}

/** With `changes` this node uses a changed vendor key from the next call on. */
export function createVault(
  platform: Pick<Platform, 'store' | 'ids' | 'random'> & Partial<Pick<Platform, 'changes'>>,
  parts: VaultParts,
): Vault {
  const { store, changes, ids, random } = platform;
  const nextNonce = nonces(random);
  const masterKeys = new MasterKeys(parts.masterKey, parts.previousMasterKeys ?? [], nextNonce);
  const keys = new DataKeys(masterKeys, { ids, random, nextNonce });
  if (changes !== undefined) dropDestroyed(changes, keys);
  const references = new References();
  const secrets = new Secrets({
    store,
    keys,
    references,
    changes: new ProviderKeyChanges(store, changes),
    ids,
  });
  return {
    operations: secretOperations(secrets, parts.providers),
    prepare: () => checkMasterKeys(store, masterKeys),
    putNamed: (tx, actor, name, value) => secrets.putNamed(tx, actor, name, value),
    addReferenceFinder: (finder) => references.add(finder),
    rotateMasterKey: (actor, options) => rotateMasterKey(store, masterKeys, actor, options),
    rotateDataKey: (scope, actor) => rotateDataKey(store, keys, scope, actor),
    find: (where, ref) => secrets.find(where, ref),
    keep: (tx, ref) => secrets.keep(tx, ref),
    resolve: (where, ref) => secrets.resolve(where, ref),
    resolveAll: (where, ref) => secrets.resolveAll(where, ref),
    providerKeys: (where) => secrets.providerKeys(where),
    putOwned: (tx, owner, actor, value, graceMs) => secrets.putOwned(tx, owner, actor, value, graceMs),
    deleteOwned: (tx, owner) => secrets.deleteOwned(tx, owner),
  };
}
