import { renderMail } from '../../infra/mail/index.js';

interface AccountMail {
  readonly email: string;
  readonly token: string;
  readonly publicUrl: string;
}

export type RenderedMail = ReturnType<typeof renderMail>;

export function verifyMail({ email, token, publicUrl }: AccountMail): RenderedMail {
  return renderMail({
    subject: 'Confirm your address',
    opening: 'Confirm that you read mail at this address.',
    facts: [['Address', email]],
    action: { label: 'Open this link to confirm', link: pageLink(publicUrl, 'verify', token) },
    closing: ['It works once, within 24 hours.', 'If you did not expect this mail, there is nothing to do.'],
  });
}

export function resetMail({ email, token, publicUrl }: AccountMail): RenderedMail {
  return renderMail({
    subject: 'Choose a new password',
    opening: 'A new password was requested for your account.',
    facts: [['Account', email]],
    action: { label: 'Open this link to choose it', link: pageLink(publicUrl, 'reset', token) },
    closing: [
      'It works once, within one hour, and ends every sign-in.',
      'If you did not request it, there is nothing to do.',
    ],
  });
}

/** The link of a mail to a page of the platform. */
export function pageLink(publicUrl: string, page: 'verify' | 'reset' | 'join', token: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/${page}?token=${token}`;
}
