import type { Place } from '../../../tenancy/vault/index.js';
import { emailConfig, type Imap, isTlsFromTheStart } from '../config/email-config.js';
import { destination, triggerType } from './trigger-type.js';

/** Without TLS from the start, STARTTLS runs before the password is sent, except on the local machine. */
function placeOfMailbox(imap: Imap): Place {
  const { host: name, port } = imap;
  return { scheme: isTlsFromTheStart(imap) ? 'imaps' : 'imap+starttls', host: name, port };
}

export const email = triggerType({
  title: 'Mail',
  description: 'Mail to the trigger’s own address, or in a mailbox.',
  config: emailConfig,
  // Without a mailbox, this node's own mail server receives the mails.
  isPolled: ({ imap }) => imap !== undefined,
  mail: (config) => config,
  destinations: ({ imap }) =>
    imap === undefined ? [] : [destination(imap, 'trigger_config.imap', placeOfMailbox(imap))],
  checkOutbound({ imap }, egress) {
    if (imap !== undefined) egress.checkHost(imap.host, imap.port, 'trigger_config.imap.host');
  },
});
