import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../storage/index.js';

const identityRow = z.object({ name: z.string(), sealed_secret: z.instanceof(Buffer) });

export type ClusterIdentityRow = z.output<typeof identityRow>;

/** Of nodes that start together on an empty database, one inserts the row; all read the same row. */
export async function keepFirstIdentity(
  tx: DirectoryTransaction,
  offered: ClusterIdentityRow,
): Promise<ClusterIdentityRow> {
  const known = await readIdentity(tx);
  if (known !== undefined) return known;
  await tx.query(sql.typeAlias('nothing')`
    insert into cluster_identity (name, sealed_secret)
    values (${offered.name}, ${sql.binary(offered.sealed_secret)}) on conflict do nothing`);
  return (await readIdentity(tx)) ?? offered;
}

export async function replaceSealedSecret(tx: DirectoryTransaction, sealedSecret: Buffer): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`update cluster_identity set sealed_secret = ${sql.binary(sealedSecret)}`,
  );
}

export async function readIdentity(tx: DirectoryTransaction): Promise<ClusterIdentityRow | undefined> {
  const row = await tx.maybeOne(
    sql.type(identityRow)`select name, sealed_secret from cluster_identity where single`,
  );
  return row ?? undefined;
}
