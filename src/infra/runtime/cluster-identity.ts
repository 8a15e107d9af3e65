import type { Random } from '../../../cluster/index.js';
import type { SealedPlace, Sealer } from '../sealing/index.js';
import type { Store } from '../storage/index.js';
import { keepFirstIdentity, replaceSealedSecret } from './cluster-identity.store.js';

export interface ClusterIdentity {
  /** Distinguishes this installation from others on the same Redis. */
  readonly name: string;
  readonly secret: string;
}

const place: SealedPlace = ['cluster secret'];

/**
 * Name and secret are stored in the database, so that exactly the nodes of one database find each other, whatever else
 * they share. The secret is random and stored sealed; it stays the same while the master key is changed node by node.
 */
export async function clusterIdentity(parts: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly random: Random;
  /** The operator's secret, which replaces the stored one. */
  readonly givenSecret: string | undefined;
}): Promise<ClusterIdentity> {
  const { store, sealer, random, givenSecret } = parts;
  const offered = {
    name: random.id().slice(0, 16),
    sealed_secret: sealer.seal(Buffer.from(random.id()), place),
  };
  const kept = await store.directory((tx) => keepFirstIdentity(tx, offered));
  if (givenSecret !== undefined) return { name: kept.name, secret: givenSecret };
  const secret = sealer.open(kept.sealed_secret, place);
  if (sealer.isStale(kept.sealed_secret)) {
    await store.directory((tx) => replaceSealedSecret(tx, sealer.seal(secret, place)));
  }
  return { name: kept.name, secret: secret.toString() };
}
