import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';
import { emailKeyOf } from './fields.js';

const userRow = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string().nullable(),
  password_hash: z.string().nullable(),
  disabled: z.boolean(),
  /** Whether a person has proved to read the mail of this address. */
  email_verified: z.boolean(),
});

export type UserRow = z.output<typeof userRow>;

export const deletedUserName = 'deleted user';

const columns = sql.fragment`
  id, email, name, password_hash, disabled_at is not null as disabled, email_verified_at is not null as email_verified`;

export function findUserByEmail(tx: DirectoryTransaction, email: string): Promise<UserRow | null> {
  return tx.maybeOne(
    sql.type(userRow)`select ${columns} from users where lower(email) = ${emailKeyOf(email)}`,
  );
}

export function findUser(tx: DirectoryTransaction, userId: string): Promise<UserRow | null> {
  return tx.maybeOne(sql.type(userRow)`select ${columns} from users where id = ${userId}`);
}

/** Locks the account against every sign-in and every other change until the transaction ends. */
export function lockUserByEmail(tx: DirectoryTransaction, email: string): Promise<UserRow | null> {
  return tx.maybeOne(
    sql.type(userRow)`
      select ${columns} from users where lower(email) = ${emailKeyOf(email)} for update`,
  );
}

export function lockUserById(tx: DirectoryTransaction, userId: string): Promise<UserRow | null> {
  return tx.maybeOne(sql.type(userRow)`select ${columns} from users where id = ${userId} for update`);
}

/** Locks the account against changes; several sign-ins do not wait for each other. */
export function holdUser(tx: DirectoryTransaction, userId: string): Promise<UserRow | null> {
  return tx.maybeOne(sql.type(userRow)`select ${columns} from users where id = ${userId} for share`);
}

/** Null if the address has an account already, also one that a concurrent transaction makes. */
export function insertUser(
  tx: DirectoryTransaction,
  user: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly passwordHash: string | null;
    readonly emailVerifiedAt: Date | null;
  },
): Promise<UserRow | null> {
  return tx.maybeOne(
    sql.type(userRow)`
      insert into users (id, email, name, password_hash, email_verified_at)
      values (${user.id}, ${user.email}, ${user.name}, ${user.passwordHash},
        ${user.emailVerifiedAt === null ? null : sql.timestamp(user.emailVerifiedAt)})
      on conflict (lower(email)) do nothing
      returning ${columns}`,
  );
}

/** False if the user does not exist or was deleted. */
export async function markDisabled(tx: DirectoryTransaction, userId: string, at: Date): Promise<boolean> {
  const { rowCount } = await tx.query(
    sql.typeAlias('nothing')`
      update users set disabled_at = coalesce(disabled_at, ${sql.timestamp(at)})
      where id = ${userId} and deleted_at is null`,
  );
  return rowCount === 1;
}

/** False if the user does not exist or was deleted. */
export async function markEnabled(tx: DirectoryTransaction, userId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    sql.typeAlias('nothing')`update users set disabled_at = null where id = ${userId} and deleted_at is null`,
  );
  return rowCount === 1;
}

/** Whether the operator has disabled the account. A deleted account is none. */
export async function isDisabled(tx: DirectoryTransaction, userId: string): Promise<boolean> {
  const found = await tx.maybeOneFirst(
    sql.type(z.object({ disabled: z.boolean() }))`
      select disabled_at is not null and deleted_at is null as disabled from users where id = ${userId}`,
  );
  return found ?? false;
}

/** Keeps the time of the first proof. */
export async function markEmailVerified(tx: DirectoryTransaction, userId: string, at: Date): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      update users set email_verified_at = coalesce(email_verified_at, ${sql.timestamp(at)}) where id = ${userId}`,
  );
}

export async function removePassword(tx: DirectoryTransaction, userId: string): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`update users set password_hash = null where id = ${userId}`);
}

export async function setPassword(
  tx: DirectoryTransaction,
  userId: string,
  passwordHash: string,
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`update users set password_hash = ${passwordHash} where id = ${userId}`,
  );
}

/**
 * Records of others name the user, so the row stays, without what tells who it was. The address is free again. In its
 * place comes one that nobody can have registered before, as a known id would let them.
 */
export async function markDeleted(tx: DirectoryTransaction, userId: string, at: Date): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      update users set email = gen_random_uuid()::text || '@deleted.invalid', name = ${deletedUserName},
        password_hash = null, email_verified_at = null, disabled_at = coalesce(disabled_at, ${sql.timestamp(at)}),
        deleted_at = ${sql.timestamp(at)}
      where id = ${userId}`,
  );
}

const shownName = z.object({ id: z.string(), name: z.string().nullable(), email: z.string() });

/** The names of users, also of those who have left every tenant. */
export function findNames(
  tx: DirectoryTransaction,
  userIds: readonly string[],
): Promise<readonly z.output<typeof shownName>[]> {
  return tx.any(
    sql.type(shownName)`select id, name, email from users where id = any(${sql.array([...userIds], 'uuid')})`,
  );
}
