import type { Role } from '../../kernel/caller.js';

/**
 * The mail with the join link. Names and link stand on short lines of their own: the mail encoding would break longer
 * lines.
 */
export function joinMail(invitation: {
  readonly tenant: string;
  readonly inviter: string;
  readonly role: Role;
  readonly token: string;
  readonly publicUrl: string;
  readonly expiresAt: Date;
}): { readonly subject: string; readonly text: string } {
  const until = `${invitation.expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return {
    subject: `Invitation to join ${invitation.tenant}`,
    text: [
      'You are invited to join a team.',
      '',
      `Team: ${invitation.tenant}`,
      `Role: ${invitation.role}`,
      `Invited by: ${invitation.inviter}`,
      '',
      'Open this link to accept:',
      '',
      joinLink(invitation.publicUrl, invitation.token),
      '',
      `It works once, until ${until}.`,
      'If you did not expect this mail, there is nothing to do.',
      '',
    ].join('\n'),
  };
}

function joinLink(publicUrl: string, token: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/join?token=${token}`;
}
