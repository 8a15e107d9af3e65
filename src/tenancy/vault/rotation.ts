import { recordAudit } from '../audit/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Store } from '../../infra/storage/index.js';
import { type DataKeys, unwrap, wrap } from './data-keys.js';
import { open, placeOf, seal } from './envelope.js';
import type { MasterKeys } from './master-keys.js';
import {
  activateMasterKey,
  adoptFirstMasterKey,
  holdIfActive,
  holdWrappedByOthers,
  listMasterKeys,
  replaceWrapping,
  retireUnusedMasterKeys,
} from './rotation.store.js';
import { holdVersionsOfOtherKeys, resealVersion } from './secrets.store.js';
import { VaultError } from './vault-error.js';

/**
 * Rotation of the master key while the nodes run:
 *
 * 1. Every node is restarted with the new key as TROUPE_MASTER_KEY and the old one in TROUPE_MASTER_KEYS_PREVIOUS. The
 *    database still names the old one as active, so nodes with either setting can read each other's data.
 * 2. `rotateMasterKey` makes the new key active, then wraps the data keys again, batch by batch. Data keys stay the
 *    same; no secret is read or changed.
 * 3. At its end the old key is retired, and the settings may drop it.
 *
 * Each batch is a transaction. A rotation that dies can be started again; two at once share the work.
 */
const batchSizeDefault = 100;

export interface RotationProgress {
  /** The number of data keys that this call has wrapped so far. */
  readonly wrapped: number;
}

export interface RotationOptions {
  readonly batchSize?: number;
  readonly onBatch?: (progress: RotationProgress) => void | Promise<void>;
}

export async function rotateMasterKey(
  store: Store,
  masterKeys: MasterKeys,
  actor: string,
  { batchSize = batchSizeDefault, onBatch }: RotationOptions = {},
): Promise<RotationProgress> {
  const { wanted } = masterKeys;
  await checkMasterKeys(store, masterKeys);
  await store.directory((tx) => activateMasterKey(tx, wanted.id));
  let wrapped = 0;
  for (;;) {
    const count = await wrapBatch(store, masterKeys, batchSize);
    if (count === 0) break;
    wrapped += count;
    await onBatch?.({ wrapped });
  }
  await store.directory(async (tx) => {
    await retireUnusedMasterKeys(tx);
    await recordAudit(tx, {
      tenantId: null,
      actor,
      action: 'vault.rotated',
      subject: `master-key:${wanted.id}`,
      details: { wrapped },
    });
  });
  return { wrapped };
}

function wrapBatch(store: Store, masterKeys: MasterKeys, limit: number): Promise<number> {
  const { wanted } = masterKeys;
  return store.directory(async (tx) => {
    if (!(await holdIfActive(tx, wanted.id))) {
      throw new VaultError(
        'rotation-superseded',
        'A rotation to another master key has begun in the meantime.',
      );
    }
    const rows = await holdWrappedByOthers(tx, wanted.id, limit);
    for (const row of rows) {
      const bytes = unwrap(masterKeys.get(row.wrapped_by), row.wrapped, row.tenant_id, row.id);
      const wrapped = wrap(wanted, bytes, row.tenant_id, row.id);
      bytes.fill(0);
      await replaceWrapping(tx, { ...row, wrapped, wrapped_by: wanted.id });
    }
    return rows.length;
  });
}

/**
 * Runs before a node serves. In an empty vault the node's key becomes the active one; otherwise every key that the
 * vault still needs must be among the configured keys.
 */
export async function checkMasterKeys(store: Store, masterKeys: MasterKeys): Promise<void> {
  const needed = await store.directory(async (tx) => {
    await adoptFirstMasterKey(tx, masterKeys.wanted.id);
    return listMasterKeys(tx);
  });
  const missing = needed.filter(
    ({ id, active, data_keys: dataKeys }) => (active || dataKeys > 0) && !masterKeys.knows(id),
  );
  const [first] = missing;
  if (first === undefined) return;
  const words = first.active
    ? `TROUPE_MASTER_KEY is not the master key of this database: its fingerprint is ${masterKeys.wanted.id}, and ` +
      `the vault was sealed with ${first.id}. Set the key that this database was first started with.`
    : `The vault still holds ${first.data_keys} data keys under the master key ${first.id}, because a rotation has ` +
      'not ended. Put that key into TROUPE_MASTER_KEYS_PREVIOUS and run `troupe vault rotate`.';
  throw new VaultError('wrong-master-key', words);
}

/** Gives the tenant a new data key and seals all its secrets with it, in one transaction. */
export function rotateDataKey(
  store: Store,
  keys: DataKeys,
  scope: TenantScope,
  actor: string,
): Promise<{ readonly sealed: number }> {
  return store.inTenant(scope, async (tx) => {
    const next = await keys.replace(scope, tx);
    let sealed = 0;
    for (;;) {
      const rows = await holdVersionsOfOtherKeys(scope, tx, next.id, batchSizeDefault);
      if (rows.length === 0) break;
      for (const row of rows) {
        const { key } = await keys.get(scope, tx, row.data_key_id);
        const plain = open(key, row.sealed, placeOf(scope, row));
        const moved = { ...row, data_key_id: next.id };
        await resealVersion(scope, tx, { ...moved, sealed: seal(next.key, plain, placeOf(scope, moved)) });
        plain.fill(0);
      }
      sealed += rows.length;
    }
    await recordAudit(tx, {
      tenantId: scope.tenantId,
      actor,
      action: 'vault.data-key-replaced',
      subject: `data-key:${next.id}`,
      details: { sealed },
    });
    return { sealed };
  });
}
