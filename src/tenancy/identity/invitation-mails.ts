import type { Store, TenantTransaction } from '../../infra/storage/index.js';
import { dayOf, subjectOf, tooManyToday } from './daily-count.js';
import { emailKeyOf } from './fields.js';
import { addInvitationMail, sweepInvitationMails } from './invitation-mails.store.js';

/** A tenant may send 1,000 invitations a day, and a person may make many tenants: all of them could go to one address. */
const perAddressMax = 5;

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
      const subject = subjectOf(emailKeyOf(email));
      if ((await addInvitationMail(tx, subject, dayOf(now))) <= perAddressMax) return;
      throw tooManyToday(perAddressMax, now, `An address gets at most ${perAddressMax} invitations a day.`);
    },

    sweep: () => store.directory(sweepInvitationMails),
  };
}
