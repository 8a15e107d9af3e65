import { z } from 'zod';
import { type ClaimedTable, claimHolders, claimingProcess, releaseClaims } from '../claims/index.js';
import { type DirectoryTransaction, sql, type Transaction } from '../storage/index.js';

export interface QueuedMail {
  /** Null for a mail about an account, which belongs to no tenant. */
  readonly tenantId: string | null;
  readonly id: string;
  readonly messageId: string;
  readonly recipient: string;
  readonly sealedContent: Buffer;
}

const dueMail = z.object({
  tenant_id: z.string().nullable(),
  id: z.string(),
  message_id: z.string(),
  recipient: z.string(),
  sealed_content: z.instanceof(Buffer),
  queued_at: z.date(),
  attempts: z.number(),
  /** By the clock of PostgreSQL: a node whose clock is ahead would give up each mail at its first failure. */
  age_ms: z.number(),
});

export type DueMail = z.output<typeof dueMail>;

/** Queued by the clock of PostgreSQL, by which it is given up. */
export async function insertMail(tx: Transaction, mail: QueuedMail): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      insert into mails (tenant_id, id, message_id, recipient, sealed_content, queued_at, next_attempt_at)
      values (${mail.tenantId}, ${mail.id}, ${mail.messageId}, ${mail.recipient},
        ${sql.binary(mail.sealedContent)}, clock_timestamp(), now())`,
  );
}

/**
 * Claims due mails that no worker holds, for `holdMs`. Counts the attempt before it is made. Uses PostgreSQL's clock: a
 * node whose clock is ahead would claim what another is sending.
 */
export function claimMails(
  tx: DirectoryTransaction,
  holdMs: number,
  rowsMax: number,
): Promise<readonly DueMail[]> {
  return tx.any(
    sql.type(dueMail)`
      update mails set attempts = attempts + 1, claimed_by = ${claimingProcess},
        next_attempt_at = clock_timestamp() + ${holdMs} * interval '1 millisecond'
      where id in (
        select id from mails
        where sealed_content is not null and next_attempt_at <= now()
        order by next_attempt_at limit ${rowsMax}
        for update skip locked)
      returning tenant_id, id, message_id, recipient, sealed_content, queued_at, attempts,
        extract(epoch from clock_timestamp() - queued_at)::float8 * 1000 as age_ms`,
  );
}

/** The claims on mails that are being sent. */
export const mailClaims: ClaimedTable = {
  holders: (tx) => claimHolders(tx, sql.fragment`mails`, sql.fragment`sealed_content is not null`),
  release: (tx, gone) =>
    releaseClaims(tx, gone, {
      table: sql.fragment`mails`,
      // A mail about an account has no tenant, and a null equals nothing.
      keys: sql.fragment`id`,
      claimed: sql.fragment`sealed_content is not null`,
      due: sql.fragment`next_attempt_at = least(next_attempt_at, clock_timestamp())`,
    }),
};

export type MailOutcome =
  | { readonly kind: 'sent'; readonly at: Date }
  | { readonly kind: 'given-up'; readonly at: Date; readonly error: string }
  | { readonly kind: 'later'; readonly inMs: number; readonly error: string };

/** Does nothing if another worker has claimed the mail meanwhile: that worker records the outcome. */
export async function recordOutcome(
  tx: DirectoryTransaction,
  mail: DueMail,
  outcome: MailOutcome,
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      update mails set claimed_by = null, ${changesOf(outcome)}
      where tenant_id is not distinct from ${mail.tenant_id} and id = ${mail.id} and attempts = ${mail.attempts}
        and sealed_content is not null`,
  );
}

function changesOf(outcome: MailOutcome) {
  if (outcome.kind === 'sent') {
    return sql.fragment`sent_at = ${sql.timestamp(outcome.at)}, sealed_content = null, last_error = null`;
  }
  const error = outcome.error.slice(0, 500);
  return outcome.kind === 'given-up'
    ? sql.fragment`given_up_at = ${sql.timestamp(outcome.at)}, sealed_content = null, last_error = ${error}`
    : sql.fragment`next_attempt_at = clock_timestamp() + ${outcome.inMs} * interval '1 millisecond',
        last_error = ${error}`;
}

const sealedMail = z.object({
  tenant_id: z.string().nullable(),
  id: z.string(),
  sealed_content: z.instanceof(Buffer),
});

/** Locks all waiting mails, to seal them again. */
export function lockWaitingMails(tx: DirectoryTransaction): Promise<readonly z.output<typeof sealedMail>[]> {
  return tx.any(
    sql.type(sealedMail)`
      select tenant_id, id, sealed_content from mails where sealed_content is not null for update`,
  );
}

export async function replaceSealedContent(
  tx: DirectoryTransaction,
  mail: { readonly tenantId: string | null; readonly id: string; readonly sealedContent: Buffer },
): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      update mails set sealed_content = ${sql.binary(mail.sealedContent)}
      where tenant_id is not distinct from ${mail.tenantId} and id = ${mail.id}`,
  );
}

/** Deletes old mails that were sent or given up, by the clock of PostgreSQL: a node's clock may be ahead. */
export async function sweepMails(tx: DirectoryTransaction, keptMs: number, rowsMax: number): Promise<void> {
  await tx.query(
    sql.typeAlias('nothing')`
      delete from mails where id in (
        select id from mails
        where queued_at < now() - ${keptMs} * interval '1 millisecond' and sealed_content is null limit ${rowsMax})`,
  );
}
