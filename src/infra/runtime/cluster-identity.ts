import type { Random } from '../../../cluster/index.js';
import { type SealedPlace, type Sealer, SealError } from '../sealing/index.js';
import type { Store } from '../storage/index.js';
import { keepFirstIdentity, readIdentity, replaceSealedSecret } from './cluster-identity.store.js';

export interface ClusterIdentity {
  /** Distinguishes this installation from others on the same Redis. */
  readonly name: string;
  readonly secret: string;
}

export interface IdentityParts {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly random: Random;
  /** The operator's secret, which replaces the stored one. */
  readonly givenSecret: string | undefined;
}

const place: SealedPlace = ['cluster secret'];

/**
 * Name and secret are stored in the database, so that exactly the nodes of one database find each other, whatever else
 * they share. The secret is random and stored sealed; it stays the same while the master key is changed node by node.
 */
export async function clusterIdentity(parts: IdentityParts): Promise<ClusterIdentity> {
  const { store, sealer, random, givenSecret } = parts;
  const offered = {
    name: random.id().slice(0, 16),
    sealed_secret: sealer.seal(Buffer.from(random.id()), place),
  };
  const kept = await store.directory((tx) => keepFirstIdentity(tx, offered));
  if (givenSecret !== undefined) return { name: kept.name, secret: givenSecret };
  const secret = sealer.open(kept.sealed_secret, place);
  await resealClusterIdentity(parts);
  return { name: kept.name, secret: secret.toString() };
}

/**
 * Seals the stored secret again under the current master key. Nodes that start do it too, but not those with the operator's
 * secret: without it, a later start would need a key that is no longer there. A secret that no known key opens is replaced,
 * because no node can start with it.
 */
export async function resealClusterIdentity({
  store,
  sealer,
  random,
}: Omit<IdentityParts, 'givenSecret'>): Promise<void> {
  await store.directory(async (tx) => {
    const kept = await readIdentity(tx);
    if (kept === undefined || !sealer.isStale(kept.sealed_secret)) return;
    const secret = opened(sealer, kept.sealed_secret) ?? Buffer.from(random.id());
    await replaceSealedSecret(tx, sealer.seal(secret, place));
  });
}

function opened(sealer: Sealer, sealed: Buffer): Uint8Array | undefined {
  try {
    return sealer.open(sealed, place);
  } catch (error) {
    if (error instanceof SealError) return undefined;
    throw error;
  }
}
