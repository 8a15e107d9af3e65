import { calculateJwkThumbprint, type CryptoKey, exportJWK, generateKeyPair, importJWK } from 'jose';
import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import type { SealedPlace, Sealer } from '../../infra/sealing/index.js';
import type { ChangeFeed, DirectoryTransaction, Store } from '../../infra/storage/index.js';
import { announceSigningKey, settled } from './changes.js';
import {
  deleteSigningKey,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  publicJwk,
  replaceSealedKey,
  type SigningKeyRow,
} from './signing-keys.store.js';

/**
 * The keys that sign access tokens, shared by all nodes through PostgreSQL. A new key is published some time before it
 * signs; an old one stays published until the last token that it signed has expired.
 */
export const signatureAlgorithm = 'EdDSA';

/** Longer than clients may cache the public keys. */
export const publishedAheadMs = 10 * 60_000;
export const jwksMaxAgeSeconds = 300;
/** Bounds the queries that tokens with unknown key ids can cause. */
const reloadEveryMs = 1_000;

export interface PublicKey {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  readonly kid: string;
  readonly alg: typeof signatureAlgorithm;
  readonly use: 'sig';
}

export interface SigningKeys {
  /** Loads the keys. Makes the first one if there is none. */
  open(): Promise<void>;
  /** The key that currently signs. */
  signer(): { readonly id: string; readonly key: CryptoKey };
  /** The public key with this id. Unknown ids are searched in the store, at a bounded rate. */
  verifier(id: string): Promise<CryptoKey | undefined>;
  published(): readonly PublicKey[];
  /** Makes a new key, which signs after `publishedAheadMs`, and removes the keys whose tokens have all expired. */
  rotate(): Promise<string>;
  /** Seals the private keys again with the current master key. Call it only when every node has that key. */
  reseal(): Promise<void>;
  /** Loads the keys after a change. */
  reload(): Promise<void>;
}

interface LoadedKey {
  readonly id: string;
  readonly signsFromMs: number;
  readonly publicKey: PublicKey;
  readonly verify: CryptoKey;
  readonly sign: CryptoKey;
}

const privateJwk = publicJwk.extend({ d: z.string() });

export function createSigningKeys(dependencies: {
  readonly store: Pick<Store, 'directory'>;
  readonly changes: ChangeFeed;
  readonly sealer: Sealer;
  readonly time: Pick<Time, 'wallMs' | 'monotonicMs'>;
  /** The lifetime of signed tokens: a key is needed this long after the next one took over. */
  readonly tokenLifetimeMs: number;
}): SigningKeys {
  const { store, changes, sealer, time, tokenLifetimeMs } = dependencies;
  const nowMs = (): number => time.wallMs();
  let keys: readonly LoadedKey[] = [];
  let loadedAtMs = -Infinity;
  let loading: Promise<void> | undefined;
  let begun = 0;
  /** The number of the load that `keys` are from. */
  let taken = 0;

  /** Keys are sorted newest first, so the first one that may sign is the current one. */
  function current(now: number): LoadedKey {
    const found = keys.find(({ signsFromMs }) => signsFromMs <= now) ?? keys.at(-1);
    if (found === undefined) throw new Error('the signing keys were not opened');
    return found;
  }

  async function load(): Promise<void> {
    begun += 1;
    const number = begun;
    loadedAtMs = time.monotonicMs();
    const rows = await store.directory(listSigningKeys);
    const loaded = await Promise.all(rows.map((row) => loadKey(row, sealer)));
    // One that began later may know a change that this one read too early for.
    if (number < taken) return;
    taken = number;
    keys = loaded;
  }

  /** Never joins a load that runs: it may have read the keys before the change that is the reason for this one. */
  function reload(): Promise<void> {
    const own = load().finally(() => {
      if (loading === own) loading = undefined;
    });
    loading = own;
    return own;
  }

  return {
    async open() {
      await store.directory(async (tx) => {
        await lockSigningKeys(tx);
        const rows = await listSigningKeys(tx);
        if (rows.length === 0) await makeKey(tx, sealer, new Date(nowMs()));
      });
      await reload();
    },

    signer() {
      const { id, sign } = current(nowMs());
      return { id, key: sign };
    },

    async verifier(id) {
      const known = keys.find((key) => key.id === id);
      if (known !== undefined) return known.verify;
      if (loading === undefined && time.monotonicMs() - loadedAtMs < reloadEveryMs) return undefined;
      // All tokens with unknown ids share one query.
      await (loading ?? reload());
      return keys.find((key) => key.id === id)?.verify;
    },

    published: () => keys.map(({ publicKey }) => publicKey),

    async rotate() {
      const { id, change } = await store.directory(async (tx) => {
        await lockSigningKeys(tx);
        const now = nowMs();
        for (const outlived of outlivedKeys(await listSigningKeys(tx), now - tokenLifetimeMs)) {
          await deleteSigningKey(tx, outlived);
        }
        const made = await makeKey(tx, sealer, new Date(now + publishedAheadMs));
        return { id: made, change: await announceSigningKey(tx, made) };
      });
      await settled(changes, change);
      await reload();
      return id;
    },

    async reseal() {
      await store.directory(async (tx) => {
        await lockSigningKeys(tx);
        for (const row of await listSigningKeys(tx)) await resealKey(tx, row, sealer);
      });
    },

    reload,
  };
}

async function makeKey(tx: DirectoryTransaction, sealer: Sealer, signsFrom: Date): Promise<string> {
  const pair = await generateKeyPair(signatureAlgorithm, { crv: 'Ed25519', extractable: true });
  const jwk = privateJwk.parse(await exportJWK(pair.privateKey));
  const { d: _secret, ...publicKey } = jwk;
  const id = await calculateJwkThumbprint(publicKey);
  const sealedPrivateKey = sealer.seal(Buffer.from(JSON.stringify(jwk)), placeOf(id));
  await insertSigningKey(tx, { id, publicKey, sealedPrivateKey, signsFrom });
  return id;
}

async function resealKey(tx: DirectoryTransaction, row: SigningKeyRow, sealer: Sealer): Promise<void> {
  if (!sealer.isStale(row.sealed_private_key)) return;
  const jwk = sealer.open(row.sealed_private_key, placeOf(row.id));
  await replaceSealedKey(tx, row.id, sealer.seal(jwk, placeOf(row.id)));
}

async function loadKey(row: SigningKeyRow, sealer: Sealer): Promise<LoadedKey> {
  const text = sealer.open(row.sealed_private_key, placeOf(row.id)).toString();
  return {
    id: row.id,
    signsFromMs: row.signs_from.getTime(),
    publicKey: { ...row.public_key, kid: row.id, alg: signatureAlgorithm, use: 'sig' },
    verify: await importKey(row.public_key),
    sign: await importKey(privateJwk.parse(JSON.parse(text))),
  };
}

async function importKey(jwk: z.output<typeof publicJwk>): Promise<CryptoKey> {
  const key = await importJWK(jwk, signatureAlgorithm);
  // jose returns bytes for symmetric keys only.
  if (key instanceof Uint8Array) throw new Error('a signing key is not a key pair');
  return key;
}

/** The keys whose successors have signed since before `sinceMs`. */
function outlivedKeys(rows: readonly SigningKeyRow[], sinceMs: number): readonly string[] {
  const successor = rows.findIndex(({ signs_from }) => signs_from.getTime() <= sinceMs);
  return successor === -1 ? [] : rows.slice(successor + 1).map(({ id }) => id);
}

function placeOf(id: string): SealedPlace {
  return ['signing key', id];
}
