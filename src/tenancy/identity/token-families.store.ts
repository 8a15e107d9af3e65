import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';
import { emailKeyOf } from './fields.js';

export type FamilyEnd =
  | 'signed-out'
  | 'signed-out-everywhere'
  | 'replayed'
  | 'disabled'
  | 'deleted'
  | 'address-proved'
  | 'password-changed'
  | 'password-reset';

const refreshTokenRow = z.object({
  family_id: z.string(),
  user_id: z.string(),
  used: z.boolean(),
  live: z.boolean(),
});

export type RefreshTokenRow = z.output<typeof refreshTokenRow>;

export async function insertFamily(
  tx: DirectoryTransaction,
  family: {
    readonly id: string;
    readonly userId: string;
    readonly createdAt: Date;
    readonly expiresAt: Date;
  },
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      insert into token_families (id, user_id, created_at, expires_at)
      values (${family.id}, ${family.userId}, ${sql.timestamp(family.createdAt)}, ${sql.timestamp(family.expiresAt)})`,
  );
}

export async function insertRefreshToken(
  tx: DirectoryTransaction,
  token: { readonly hash: Buffer; readonly familyId: string; readonly issuedAt: Date },
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      insert into refresh_tokens (hash, family_id, issued_at)
      values (${sql.binary(token.hash)}, ${token.familyId}, ${sql.timestamp(token.issuedAt)})`,
  );
}

/** Locks token and family: of two requests with one token the second sees the result of the first. */
export function lockRefreshToken(
  tx: DirectoryTransaction,
  hash: Buffer,
  now: Date,
): Promise<RefreshTokenRow | null> {
  return tx.maybeOne(
    sql.type(refreshTokenRow)`
      select t.family_id, f.user_id, t.used_at is not null as used,
        f.ended_at is null and f.expires_at > ${sql.timestamp(now)} as live
      from refresh_tokens t join token_families f on f.id = t.family_id
      where t.hash = ${sql.binary(hash)}
      for update`,
  );
}

export async function useRefreshToken(
  tx: DirectoryTransaction,
  token: { readonly hash: Buffer; readonly familyId: string; readonly now: Date; readonly expiresAt: Date },
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      update refresh_tokens set used_at = ${sql.timestamp(token.now)} where hash = ${sql.binary(token.hash)}`,
  );
  await tx.query(
    sql.typeAlias('nothing')`
      update token_families set expires_at = ${sql.timestamp(token.expiresAt)} where id = ${token.familyId}`,
  );
}

/** False if the family had already ended. */
export async function endFamily(
  tx: DirectoryTransaction,
  familyId: string,
  reason: FamilyEnd,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    sql.typeAlias('nothing')`
      update token_families set ended_at = ${sql.timestamp(now)}, end_reason = ${reason}
      where id = ${familyId} and ended_at is null`,
  );
  return rowCount === 1;
}

/** Returns the ids of the families that it ended: all of the user but `except`. */
export async function endFamiliesOfUser(
  tx: DirectoryTransaction,
  userId: string,
  reason: FamilyEnd,
  now: Date,
  except?: string,
): Promise<readonly string[]> {
  const rows = await tx.any(
    sql.type(z.object({ id: z.string() }))`
      update token_families set ended_at = ${sql.timestamp(now)}, end_reason = ${reason}
      where user_id = ${userId} and ended_at is null and id is distinct from ${except ?? null}::uuid
      returning id`,
  );
  return rows.map(({ id }) => id);
}

/** The family of a refresh token that was issued to the account of this address, also if it was used or has ended. */
export async function findFamilyOf(
  tx: DirectoryTransaction,
  tokenHash: Buffer,
  email: string,
): Promise<string | undefined> {
  const row = await tx.maybeOne(
    sql.type(z.object({ id: z.string() }))`
      select f.id from refresh_tokens t
        join token_families f on f.id = t.family_id join users u on u.id = f.user_id
      where t.hash = ${sql.binary(tokenHash)} and lower(u.email) = ${emailKeyOf(email)}`,
  );
  return row?.id;
}

/** Whether access tokens of this family are valid for this user. */
export function familyIsLive(
  tx: DirectoryTransaction,
  familyId: string,
  userId: string,
  now: Date,
): Promise<boolean> {
  return tx.exists(
    sql.unsafe`
      select 1 from token_families f join users u on u.id = f.user_id
      where f.id = ${familyId} and f.user_id = ${userId} and f.ended_at is null
        and f.expires_at > ${sql.timestamp(now)} and u.disabled_at is null`,
  );
}

/**
 * Removes families that have been expired for a day, and tokens that were used longer ago than any plausible replay. By the
 * clock of PostgreSQL: a node whose clock is ahead would end all sign-ins.
 */
export async function sweepFamilies(
  tx: DirectoryTransaction,
  usedKeptMs: number,
  rowsMax: number,
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      delete from token_families where id in (
        select id from token_families where expires_at < now() - interval '1 day' limit ${rowsMax})`,
  );
  await tx.query(
    sql.typeAlias('nothing')`
      delete from refresh_tokens where hash in (
        select hash from refresh_tokens
        where used_at < now() - ${usedKeptMs} * interval '1 millisecond' limit ${rowsMax})`,
  );
}
