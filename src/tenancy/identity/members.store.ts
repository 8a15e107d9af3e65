import { z } from 'zod';
import { type Role, roles } from '../../kernel/caller.js';
import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';
import { emailKeyOf } from './fields.js';

const memberRow = z.object({
  user_id: z.string(),
  email: z.string(),
  name: z.string().nullable(),
  role: z.enum(roles),
  phone: z.string().nullable(),
  external_id: z.string().nullable(),
  created_at: z.date(),
});

export type MemberRow = z.output<typeof memberRow>;

/** Every change of a tenant's members takes this lock first, so that such changes run one after the other. */
export async function lockMembers(tx: TenantTransaction): Promise<void> {
  await tx.query(sql.unsafe`select 1 from tenants where id = ${tx.scope.tenantId} for update`);
}

const servedRow = z.object({ suspended: z.boolean(), deleting: z.boolean() });

/**
 * Changes of one tenant's members, keys and invitations run one after the other: a key that changes another, which
 * changes the first, would otherwise block both. Rows that name the tenant are written meanwhile. Null if there is no
 * such tenant.
 */
export function holdMembers(tx: TenantTransaction): Promise<z.output<typeof servedRow> | null> {
  return tx.maybeOne(
    sql.type(servedRow)`
      select suspended_at is not null as suspended, deleting_at is not null as deleting
      from tenants where id = ${tx.scope.tenantId} for no key update`,
  );
}

export function listMembers(tx: TenantTransaction): Promise<readonly MemberRow[]> {
  return tx.any(
    sql.type(memberRow)`
      select m.user_id, u.email, u.name, m.role, m.phone, m.external_id, m.created_at
      from memberships m join users u on u.id = m.user_id
      where m.tenant_id = ${tx.scope.tenantId}
      order by m.created_at, m.user_id`,
  );
}

export function findMember(tx: TenantTransaction, userId: string): Promise<MemberRow | null> {
  return tx.maybeOne(
    sql.type(memberRow)`
      select m.user_id, u.email, u.name, m.role, m.phone, m.external_id, m.created_at
      from memberships m join users u on u.id = m.user_id
      where m.tenant_id = ${tx.scope.tenantId} and m.user_id = ${userId}`,
  );
}

const shownMember = z.object({ id: z.string(), name: z.string().nullable(), email: z.string() });

/** Those of the users who belong to the tenant. */
export function findMembersAmong(
  tx: TenantTransaction,
  userIds: readonly string[],
): Promise<readonly z.output<typeof shownMember>[]> {
  return tx.any(
    sql.type(shownMember)`
      select u.id, u.name, u.email from memberships m join users u on u.id = m.user_id
      where m.tenant_id = ${tx.scope.tenantId} and m.user_id = any(${sql.array([...userIds], 'uuid')})`,
  );
}

/** The addresses of the tenant's owners; with `verifiedOnly` those that their owners have verified. */
export async function ownerMails(tx: TenantTransaction, verifiedOnly: boolean): Promise<readonly string[]> {
  const told = verifiedOnly ? sql.fragment`u.email_verified_at is not null` : sql.fragment`true`;
  const rows = await tx.any(
    sql.type(z.object({ email: z.string() }))`
      select u.email from memberships m join users u on u.id = m.user_id
      where m.tenant_id = ${tx.scope.tenantId} and m.role = 'owner' and ${told}
      order by u.email`,
  );
  return rows.map(({ email }) => email);
}

export function countOwners(tx: TenantTransaction): Promise<number> {
  return tx.oneFirst(
    sql.typeAlias('count')`
      select count(*) as count from memberships
      where tenant_id = ${tx.scope.tenantId} and role = 'owner'`,
  );
}

export async function updateMember(
  tx: TenantTransaction,
  userId: string,
  member: { readonly role: Role; readonly phone: string | null; readonly externalId: string | null },
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      update memberships
      set role = ${member.role}, phone = ${member.phone}, external_id = ${member.externalId}
      where tenant_id = ${tx.scope.tenantId} and user_id = ${userId}`,
  );
}

export async function deleteMember(tx: TenantTransaction, userId: string): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      delete from memberships where tenant_id = ${tx.scope.tenantId} and user_id = ${userId}`,
  );
}

export function isMemberAddress(tx: TenantTransaction, email: string): Promise<boolean> {
  return tx.exists(
    sql.unsafe`
      select 1 from memberships m join users u on u.id = m.user_id
      where m.tenant_id = ${tx.scope.tenantId} and lower(u.email) = ${emailKeyOf(email)}`,
  );
}

const standingRow = z.object({ signed_in: z.boolean(), role: z.enum(roles).nullable() });

/**
 * Whether the user's sign-in is still valid, and the user's role in the tenant; null for a user who does not belong to it.
 * A user of an outside issuer has no family, and is signed in unless the account was disabled.
 */
export function standingOf(
  tx: TenantTransaction,
  { userId, familyId }: { readonly userId: string; readonly familyId: string | undefined },
): Promise<z.output<typeof standingRow>> {
  const signedIn =
    familyId === undefined
      ? sql.fragment`not exists (select from users u where u.id = ${userId} and u.disabled_at is not null)`
      : sql.fragment`sign_in_is_live(${familyId}, ${userId})`;
  return tx.one(
    sql.type(standingRow)`
      select ${signedIn} as signed_in,
        (select role from memberships where tenant_id = ${tx.scope.tenantId} and user_id = ${userId}) as role`,
  );
}

/** The user's own name or address, and the name of the tenant. */
export function namesOf(
  tx: TenantTransaction,
  userId: string,
): Promise<{ readonly tenant: string; readonly user: string | null }> {
  return tx.one(
    sql.type(z.object({ tenant: z.string(), user: z.string().nullable() }))`
      select t.name as tenant, coalesce(u.name, u.email) as user
      from tenants t left join users u on u.id = ${userId}
      where t.id = ${tx.scope.tenantId}`,
  );
}

/**
 * The id of the active member with this identity: mail addresses in lower case, phone numbers as `+` and digits. An
 * external id is stored as it was typed, and a sender's comes in that spelling too.
 */
export async function findMemberBy(
  tx: TenantTransaction,
  column: 'email' | 'external_id' | 'phone',
  value: string,
): Promise<string | undefined> {
  const matches = {
    email: sql.fragment`lower(u.email) = ${value}`,
    external_id: sql.fragment`(
      m.external_id = ${value}
      or (${value} like '%@%' and lower(m.external_id) = ${value})
      or (m.external_id ~ '^[+][0-9 ().-]+$' and '+' || regexp_replace(m.external_id, '\\D', '', 'g') = ${value}))`,
    // The directory stores phone numbers as people typed them.
    phone: sql.fragment`'+' || regexp_replace(m.phone, '\\D', '', 'g') = ${value}`,
  }[column];
  const found = await tx.maybeOneFirst(
    sql.type(z.object({ user_id: z.uuid() }))`
      select m.user_id from memberships m join users u on u.id = m.user_id
      where m.tenant_id = ${tx.scope.tenantId} and u.disabled_at is null and ${matches}
      order by m.created_at limit 1`,
  );
  return found ?? undefined;
}

/** The same in a transaction without a tenant. */
export function namesInDirectory(
  tx: DirectoryTransaction,
  tenantId: string,
  userId: string,
): ReturnType<typeof namesOf> {
  return tx.one(
    sql.type(z.object({ tenant: z.string(), user: z.string().nullable() }))`
      select t.name as tenant, coalesce(u.name, u.email) as user
      from tenants t left join users u on u.id = ${userId}
      where t.id = ${tenantId}`,
  );
}
