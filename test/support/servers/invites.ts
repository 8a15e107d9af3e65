import { createMail } from '../../../src/infra/mail/index.js';
import { createInvites, type Invites } from '../../../src/tenancy/invites/index.js';
import { logTo, platformOf } from '../builders/platform.js';
import { type IdentityNode, type ShiftedTime, shiftedTime, startIdentityNode } from './identity.js';
import type { MailFolder } from './mail-folder.js';

/** A node with accounts and invitations, whose mails go to the folder. */
export function startInvitesNode(
  databaseUrl: string,
  options: {
    readonly folder: MailFolder;
    readonly publicUrl: string;
    readonly time?: ShiftedTime | undefined;
    readonly verifyEmail?: boolean;
    /** Gets what only the operator may do. */
    readonly onBook?: (book: Pick<Invites, 'createByOperator'>) => void;
  },
): Promise<IdentityNode> {
  const { folder, publicUrl, time = shiftedTime(), verifyEmail = false, onBook } = options;
  return startIdentityNode(databaseUrl, {
    time,
    verifyEmail,
    more: async ({ store, sealer, identity, problems }) => {
      const platform = platformOf({ store, time, log: logTo((_, error) => problems.push(error)) });
      const mail = createMail(platform, {
        sealer,
        outboxFolder: folder.path,
        publicUrl: () => publicUrl,
      });
      mail.start();
      const { operations, book } = createInvites(platform, {
        accounts: identity.accounts,
        mail,
        publicUrl: () => publicUrl,
        requireVerified: (scope, work) => identity.verifiedOwners.require(scope, work),
        countMail: (tx, email) => identity.invitationMails.count(tx, email),
      });
      onBook?.(book);
      return { operations, close: () => mail.close() };
    },
  });
}
