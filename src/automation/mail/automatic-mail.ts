import type { ParsedMail } from '../mail-reading/parsed-mail.js';

const bulk: ReadonlySet<string> = new Set(['bulk', 'junk', 'list', 'auto_reply']);

/**
 * Whether no person wrote the mail: automatic replies, bounces, mailing lists, and the trigger's own mail. Answering
 * one of them may start an endless loop (RFC 3834).
 */
export function isAutomatic(
  { headers, sender }: Pick<ParsedMail, 'headers' | 'sender'>,
  {
    returnPath,
    ownAddresses,
  }: { readonly returnPath: string | undefined; readonly ownAddresses: readonly string[] },
): boolean {
  const { autoSubmitted, precedence, listId, contentType } = headers;
  if (autoSubmitted !== undefined && autoSubmitted.split(/[;\s]/)[0] !== 'no') return true;
  if (precedence !== undefined && bulk.has(precedence)) return true;
  if (listId !== undefined || contentType === 'multipart/report') return true;
  if ((returnPath ?? headers.returnPath) === '') return true;
  return (
    sender === undefined || ownAddresses.includes(sender) || /^(?:mailer-daemon|postmaster)@/.test(sender)
  );
}
