import { dkimVerify, dmarc, type DNSResolver, spf } from 'mailauth';
import type { ParsedMail, SenderCheck, SenderVerdict } from './parsed-mail.js';

/** Each verified signature costs a key lookup and a public-key operation; honest mails have one to three. */
const signaturesMax = 10;
const keyBitsMin = 1_024;
/** The bound of RFC 7208 for the evaluation of SPF. */
const spfLookups = { maxResolveCount: 10, maxVoidCount: 2 };
/** The policy assumed for a domain without one: any aligned pass proves the sender. */
const defaultPolicy = 'v=DMARC1; p=none';

/**
 * Whether the domain in the mail's `From` vouches for it: by SPF of the sending server, or by a DKIM signature over the
 * whole body, aligned with that domain (RFC 7489). A mail from a mailbox has only its signatures.
 */
export async function checkSender(
  raw: Buffer,
  { sender }: Pick<ParsedMail, 'sender'>,
  check: SenderCheck,
  resolver: DNSResolver,
): Promise<SenderVerdict> {
  if (sender === undefined || signaturesIn(raw) > signaturesMax) return 'unauthenticated';
  const mailFrom = check.by === 'smtp' ? check.mailFrom : '';
  const signed = await dkimVerify(raw, { resolver, sender: mailFrom, minBitLength: keyBitsMin });
  const [headerFrom, ...others] = [signed.headerFrom ?? []].flat();
  // With two senders, or one that parsers read differently, it is unclear who would be answered.
  if (headerFrom === undefined || others.length > 0 || headerFrom.trim().toLowerCase() !== sender) {
    return 'unauthenticated';
  }
  const results = signed.results ?? [];
  const byServer =
    check.by === 'smtp'
      ? await spf({
          ...spfLookups,
          sender: mailFrom,
          ip: check.ip,
          helo: check.helo,
          mta: 'troupe',
          resolver,
        })
      : undefined;
  const proofs = {
    headerFrom,
    spfDomains: byServer?.status.result === 'pass' && byServer.domain ? [byServer.domain] : [],
    // A signature over only the first part of the body lets anyone write the rest.
    dkimDomains: results
      .filter(({ status }) => status.result === 'pass' && !status.underSized)
      .map(({ signingDomain }) => ({ domain: signingDomain })),
  };
  const policy = await dmarc({ ...proofs, resolver });
  const decided =
    policy !== false && policy.status.result === 'none'
      ? await dmarc({ ...proofs, resolver: async () => [[defaultPolicy]] })
      : policy;
  if (decided === false) return 'unauthenticated';
  if (decided.status.result === 'pass') return 'authenticated';
  const undecided = [
    decided.status.result,
    byServer?.status.result,
    ...results.map(({ status }) => status.result),
  ];
  return undecided.includes('temperror') ? 'undecided' : 'unauthenticated';
}

function signaturesIn(raw: Buffer): number {
  return [...raw.toString('latin1', 0, 300_000).matchAll(/^dkim-signature\s*:/gim)].length;
}
