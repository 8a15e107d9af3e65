import { createHash } from 'node:crypto';
import { tooManyRequests } from '../../kernel/errors.js';
import type { Store, TenantTransaction } from '../../infra/storage/index.js';
import { emailKeyOf } from './fields.js';
import { addInvitationMail, sweepInvitationMails } from './invitation-mails.store.js';

/** A tenant may send 1,000 invitations a day, and a person may make many tenants: all of them could go to one address. */
const perAddressMax = 5;
const dayMs = 86_400_000;

/** The bound of the invitations that tenants together may send to one address. */
export interface InvitationMails {
  /**
   * Counts one for the address, in the transaction that queues it. Throws the refusal if the address has got its number for
   * the day. Does nothing where `TROUPE_VERIFY_EMAIL` is off.
   */
  count(tx: TenantTransaction, email: string): Promise<void>;
  /** Removes the counts of past days. */
  sweep(): Promise<void>;
}

export function createInvitationMails(parts: {
  readonly store: Store;
  readonly nowMs: () => number;
  readonly bounded: boolean;
}): InvitationMails {
  const { store, nowMs, bounded } = parts;
  return {
    async count(tx, email) {
      if (!bounded) return;
      const now = nowMs();
      const subject = createHash('sha256').update(emailKeyOf(email)).digest();
      const day = new Date(now).toISOString().slice(0, 10);
      if ((await addInvitationMail(tx, subject, day)) <= perAddressMax) return;
      // The rollback also undoes the count.
      throw tooManyRequests(perAddressMax, {
        atMs: (Math.floor(now / dayMs) + 1) * dayMs,
        nowMs: now,
        message: `An address gets at most ${perAddressMax} invitations a day. Try again after the seconds of Retry-After.`,
      });
    },

    sweep: () => store.directory(sweepInvitationMails),
  };
}
