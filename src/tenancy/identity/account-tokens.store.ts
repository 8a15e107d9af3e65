import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

export type TokenPurpose = 'verify' | 'reset';

export async function insertAccountToken(
  tx: DirectoryTransaction,
  token: {
    readonly hash: Buffer;
    readonly userId: string;
    readonly purpose: TokenPurpose;
    readonly issuedAt: Date;
    readonly expiresAt: Date;
    readonly requested: boolean;
  },
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      insert into account_tokens (hash, user_id, purpose, issued_at, expires_at, requested)
      values (${sql.binary(token.hash)}, ${token.userId}, ${token.purpose}, ${sql.timestamp(token.issuedAt)},
        ${sql.timestamp(token.expiresAt)}, ${token.requested})`,
  );
}

const ownerRow = z.object({ user_id: z.string() });

/** The user whom a usable token belongs to. */
export async function findAccountToken(
  tx: DirectoryTransaction,
  hash: Buffer,
  purpose: TokenPurpose,
  now: Date,
): Promise<string | undefined> {
  const row = await tx.maybeOne(
    sql.type(ownerRow)`
      select user_id from account_tokens
      where hash = ${sql.binary(hash)} and purpose = ${purpose} and expires_at > ${sql.timestamp(now)}`,
  );
  return row?.user_id;
}

/** Deletes a usable token and returns its user: of two requests with one token the second finds nothing. */
export async function takeAccountToken(
  tx: DirectoryTransaction,
  hash: Buffer,
  purpose: TokenPurpose,
  now: Date,
): Promise<string | undefined> {
  const row = await tx.maybeOne(
    sql.type(ownerRow)`
      delete from account_tokens
      where hash = ${sql.binary(hash)} and purpose = ${purpose} and expires_at > ${sql.timestamp(now)}
      returning user_id`,
  );
  return row?.user_id;
}

/** Deletes the other tokens of a user; without a purpose, all. */
export async function dropAccountTokens(
  tx: DirectoryTransaction,
  userId: string,
  purpose?: TokenPurpose,
): Promise<void> {
  const matches = purpose === undefined ? sql.fragment`` : sql.fragment`and purpose = ${purpose}`;
  await tx.query(sql.typeAlias('nothing')`delete from account_tokens where user_id = ${userId} ${matches}`);
}

const requested = z.object({ count: z.number(), oldest: z.date().nullable() });

/** The tokens that requests of the last hour made. */
export function countRequested(
  tx: DirectoryTransaction,
  userId: string,
  purpose: TokenPurpose,
  since: Date,
): Promise<z.output<typeof requested>> {
  return tx.one(
    sql.type(requested)`
      select count(*) as count, min(issued_at) as oldest from account_tokens
      where user_id = ${userId} and purpose = ${purpose} and requested and issued_at > ${sql.timestamp(since)}`,
  );
}

/** Removes tokens an hour after they expired, by the clock of PostgreSQL: a node's clock may be ahead. */
export async function sweepAccountTokens(tx: DirectoryTransaction, rowsMax: number): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      delete from account_tokens where hash in (
        select hash from account_tokens where expires_at < now() - interval '1 hour' limit ${rowsMax})`,
  );
}

export async function insertResetRequest(tx: DirectoryTransaction, email: string, at: Date): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      insert into reset_requests (email, requested_at) values (${email}, ${sql.timestamp(at)})`,
  );
}

/** Takes the oldest requests that no other node works on. They come back if the transaction rolls back. */
export async function takeResetRequests(
  tx: DirectoryTransaction,
  rowsMax: number,
): Promise<readonly string[]> {
  const rows = await tx.any(
    sql.type(z.object({ email: z.string() }))`
      delete from reset_requests where id in (
        select id from reset_requests order by id limit ${rowsMax} for update skip locked)
      returning email`,
  );
  return rows.map(({ email }) => email);
}
