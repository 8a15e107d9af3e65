import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

/** An Ed25519 public key (RFC 8037). */
export const publicJwk = z.object({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string() });

const signingKeyRow = z.object({
  id: z.string(),
  public_key: publicJwk,
  sealed_private_key: z.instanceof(Buffer),
  signs_from: z.date(),
});

export type SigningKeyRow = z.output<typeof signingKeyRow>;

/** Newest first. */
export function listSigningKeys(tx: DirectoryTransaction): Promise<readonly SigningKeyRow[]> {
  return tx.any(
    sql.type(signingKeyRow)`
      select id, public_key, sealed_private_key, signs_from from signing_keys order by signs_from desc, id`,
  );
}

/** Locks the set of keys until the transaction ends: nodes that start at once make one key. */
export async function lockSigningKeys(tx: DirectoryTransaction): Promise<void> {
  await tx.query(sql.unsafe`select pg_advisory_xact_lock(hashtextextended('troupe signing keys', 0))`);
}

export async function insertSigningKey(
  tx: DirectoryTransaction,
  key: {
    readonly id: string;
    readonly publicKey: z.output<typeof publicJwk>;
    readonly sealedPrivateKey: Buffer;
    readonly signsFrom: Date;
  },
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      insert into signing_keys (id, public_key, sealed_private_key, signs_from)
      values (${key.id}, ${sql.jsonb(key.publicKey)}, ${sql.binary(key.sealedPrivateKey)},
        ${sql.timestamp(key.signsFrom)})`,
  );
}

export async function replaceSealedKey(
  tx: DirectoryTransaction,
  id: string,
  sealedPrivateKey: Buffer,
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      update signing_keys set sealed_private_key = ${sql.binary(sealedPrivateKey)} where id = ${id}`,
  );
}

export async function deleteSigningKey(tx: DirectoryTransaction, id: string): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`delete from signing_keys where id = ${id}`);
}
