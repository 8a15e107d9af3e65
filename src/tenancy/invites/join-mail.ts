import type { Role } from '../../kernel/caller.js';
import { renderMail } from '../../infra/mail/index.js';
import { pageLink } from '../identity/index.js';

/** The mail with the join link. */
export function joinMail(invitation: {
  readonly tenant: string;
  readonly inviter: string;
  readonly email: string;
  readonly role: Role;
  readonly token: string;
  readonly publicUrl: string;
  readonly expiresAt: Date;
}): ReturnType<typeof renderMail> {
  const until = `${invitation.expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return renderMail({
    subject: `Invitation to join ${invitation.tenant}`,
    opening: 'You are invited to join a team.',
    facts: [
      ['Team', invitation.tenant],
      ['Role', invitation.role],
      ['Invited by', invitation.inviter],
      ['Address', invitation.email],
    ],
    action: {
      label: 'Open this link to accept',
      link: pageLink(invitation.publicUrl, 'join', invitation.token),
    },
    closing: [`It works once, until ${until}.`, 'If you did not expect this mail, there is nothing to do.'],
  });
}
