import { z } from 'zod';
import { type Role, roles } from '../../kernel/caller.js';
import {
  type DirectoryTransaction,
  sql,
  type TenantTransaction,
  type Transaction,
} from '../../infra/storage/index.js';

const inviteRow = z.object({
  tenant_id: z.string(),
  id: z.string(),
  email: z.string(),
  role: z.enum(roles),
  invited_by: z.string(),
  created_at: z.date(),
  expires_at: z.date(),
});

export type InviteRow = z.output<typeof inviteRow>;

const columns = sql.fragment`tenant_id, id, email, role, invited_by, created_at, expires_at`;

/** Closes expired invitations, so that their addresses can be invited again. */
export async function closeExpired(tx: TenantTransaction, now: Date): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      update invites set status = 'expired', closed_at = ${sql.timestamp(now)}
      where tenant_id = ${tx.scope.tenantId} and status = 'pending' and expires_at <= ${sql.timestamp(now)}`,
  );
}

export function countSince(tx: TenantTransaction, since: Date): Promise<number> {
  return tx.oneFirst(
    sql.typeAlias('count')`
      select count(*) as count from invites
      where tenant_id = ${tx.scope.tenantId} and created_at > ${sql.timestamp(since)}`,
  );
}

/** Null if the address has a pending invitation, also one of a concurrent transaction. */
export function insertInvite(
  tx: TenantTransaction,
  invite: {
    readonly id: string;
    readonly email: string;
    readonly role: Role;
    readonly tokenHash: Buffer;
    readonly invitedBy: string;
    readonly createdAt: Date;
    readonly expiresAt: Date;
  },
): Promise<InviteRow | null> {
  return tx.maybeOne(
    sql.type(inviteRow)`
      insert into invites (tenant_id, id, email, role, token_hash, invited_by, created_at, expires_at)
      values (${tx.scope.tenantId}, ${invite.id}, ${invite.email}, ${invite.role},
        ${sql.binary(invite.tokenHash)}, ${invite.invitedBy}, ${sql.timestamp(invite.createdAt)},
        ${sql.timestamp(invite.expiresAt)})
      on conflict (tenant_id, lower(email)) where status = 'pending' do nothing
      returning ${columns}`,
  );
}

/** Oldest first. */
export function listPending(tx: TenantTransaction, now: Date): Promise<readonly InviteRow[]> {
  return tx.any(
    sql.type(inviteRow)`
      select ${columns} from invites
      where tenant_id = ${tx.scope.tenantId} and status = 'pending' and expires_at > ${sql.timestamp(now)}
      order by created_at, id`,
  );
}

/** The invitation if it is pending, locked against concurrent acceptance. */
export function lockPending(tx: TenantTransaction, id: string, now: Date): Promise<InviteRow | null> {
  return tx.maybeOne(
    sql.type(inviteRow)`
      select ${columns} from invites
      where tenant_id = ${tx.scope.tenantId} and id = ${id} and status = 'pending'
        and expires_at > ${sql.timestamp(now)}
      for update`,
  );
}

export async function cancelInvite(tx: TenantTransaction, id: string, now: Date): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      update invites set status = 'cancelled', closed_at = ${sql.timestamp(now)}
      where tenant_id = ${tx.scope.tenantId} and id = ${id}`,
  );
}

const pendingByToken = (tokenHash: Buffer, now: Date) => sql.fragment`
  select ${columns} from invites
  where token_hash = ${sql.binary(tokenHash)} and status = 'pending' and expires_at > ${sql.timestamp(now)}`;

/** The pending invitation with this token. */
export function findByToken(
  tx: DirectoryTransaction,
  tokenHash: Buffer,
  now: Date,
): Promise<InviteRow | null> {
  return tx.maybeOne(sql.type(inviteRow)`${pendingByToken(tokenHash, now)}`);
}

/** Like `findByToken`, but locked: of two concurrent acceptances the second finds nothing. */
export function lockByToken(
  tx: DirectoryTransaction,
  tokenHash: Buffer,
  now: Date,
): Promise<InviteRow | null> {
  return tx.maybeOne(sql.type(inviteRow)`${pendingByToken(tokenHash, now)} for update`);
}

export async function markAccepted(
  tx: DirectoryTransaction,
  invite: Pick<InviteRow, 'tenant_id' | 'id'>,
  userId: string,
  now: Date,
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      update invites set status = 'accepted', closed_at = ${sql.timestamp(now)}, accepted_by = ${userId}
      where tenant_id = ${invite.tenant_id} and id = ${invite.id}`,
  );
}

const idRow = z.object({ id: z.string() });

/** Cancels the tenant's pending invitations and returns their ids. */
export async function cancelAllInvites(
  tx: Transaction,
  tenantId: string,
  at: Date,
): Promise<readonly string[]> {
  const rows = await tx.any(
    sql.type(idRow)`
      update invites set status = 'cancelled', closed_at = ${sql.timestamp(at)}
      where tenant_id = ${tenantId} and status = 'pending' returning id`,
  );
  return rows.map(({ id }) => id);
}

/** Whether any tenant has invited the address and waits for it. */
export function hasPendingInvite(tx: DirectoryTransaction, email: string, now: Date): Promise<boolean> {
  return tx.exists(
    sql.unsafe`
      select 1 from invites
      where lower(email) = ${email.toLowerCase()} and status = 'pending' and expires_at > ${sql.timestamp(now)}`,
  );
}
