import { isIP } from 'node:net';
import type { ImapFlow } from 'imapflow';
import type { Time } from '../../../cluster/index.js';
import { isLoopbackAddress } from '../../kernel/address.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Egress } from '../../infra/egress/index.js';
import type { Vault } from '../../tenancy/vault/index.js';
import { type Imap, isTlsFromTheStart } from '../triggers/config/email-config.js';
import { MailboxError, withinBudget } from './mailbox-budget.js';

export { MailboxError } from './mailbox-budget.js';

export type { Imap } from '../triggers/config/email-config.js';

export interface MailboxConnectionParts {
  readonly vault: Pick<Vault, 'resolve'>;
  readonly egress: Pick<Egress, 'permittedAddresses'>;
  /** PEM certificates to trust instead of Node's own. */
  readonly authorities?: readonly string[];
  readonly time: Time;
}

const timeoutMs = 8_000;
/** From the first packet to the end of the sign-in. Greeting, capabilities and answers fit many times. */
const signInBudget = { ms: 8_000, bytes: 1024 * 1024 };
/** A mail of 10 MB, the largest accepted, and its frame. */
const literalBytesMax = 11 * 1024 * 1024;
/** The numbers of one search window are the longest line requested; see `searchWindow`. */
const lineBytesMax = 64 * 1024;
/** One literal of that size with the lines around it. */
const responseBytesMax = literalBytesMax + 2 * lineBytesMax;

/**
 * A signed-in connection to the server of a tenant's mailbox. The egress guard checks the address that is connected to.
 * Except on the machine itself, TLS is required, from the start or by STARTTLS. The tenant names the server, so every
 * literal, line and answer is bounded, and so are the bytes and the time of the sign-in.
 */
export async function connectMailbox(
  { vault, egress, authorities, time }: MailboxConnectionParts,
  scope: TenantScope,
  imap: Imap,
): Promise<ImapFlow> {
  const { host, port, user, secret_ref: name, vault_secret_id } = imap;
  const secret = await vault.resolve(scope, name ?? { vault_secret_id: vault_secret_id ?? '' });
  const [address] = await egress.permittedAddresses(host, port);
  const secure = isTlsFromTheStart(imap);
  // Loaded when it is needed: its tables of Japanese encodings take a sixth of the time in which a node loads.
  const { ImapFlow: ImapClient } = await import('imapflow');
  const client = new ImapClient({
    host: address,
    // An IP address is no host name; it is compared with the certificate's addresses.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    port,
    secure,
    // A password never leaves the machine unencrypted.
    ...(secure || isLoopbackAddress(address) ? {} : { doSTARTTLS: true }),
    ...(authorities === undefined ? {} : { tls: { ca: [...authorities] } }),
    auth: { user, pass: secret.value.reveal() },
    logger: false,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    // Longer than the pauses of IDLE.
    socketTimeout: 300_000,
    maxIdleTime: 120_000,
    maxLiteralSize: literalBytesMax,
    maxLineLength: lineBytesMax,
    maxResponseSize: responseBytesMax,
    // No compression: a few kilobytes of deflated zeros are megabytes to parse.
    disableCompression: true,
  });
  // Errors reach the waiting caller and the close event; an unhandled error event would end the process.
  client.on('error', () => undefined);
  try {
    await withinBudget(client, time, signInBudget, () => client.connect());
  } catch (error) {
    client.close();
    if (error instanceof MailboxError) throw error;
    const denied = error instanceof Error && Reflect.get(error, 'authenticationFailed') === true;
    throw new MailboxError(
      denied
        ? 'The mailbox refused the user and password.'
        : 'The server of the mailbox could not be reached.',
      { cause: error },
    );
  }
  return client;
}
