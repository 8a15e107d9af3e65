import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';

/** Adds one and returns the count. Locks the subject's count until the transaction ends. */
export function addInvitationMail(tx: TenantTransaction, subject: Buffer, day: string): Promise<number> {
  return tx.oneFirst(
    sql.typeAlias('count')`select count_invitation_mail(${sql.binary(subject)}, ${day}::date) as count`,
  );
}

/** By the clock of PostgreSQL: a node whose clock is ahead would open the bound of today. */
export async function sweepInvitationMails(tx: DirectoryTransaction): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      delete from invitation_mails_by_address where day < (now() at time zone 'UTC')::date`,
  );
}
