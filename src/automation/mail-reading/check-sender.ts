import { dkimVerify, dmarc, type DNSResolver, spf } from 'mailauth';
import type { ParsedMail, SenderCheck, SenderVerdict } from './parsed-mail.js';

/** Signatures that are verified cost a key look-up and a public-key operation each; honest mails have one to three. */
const signaturesMax = 10;
const keyBitsMin = 1_024;
/** As RFC 7208 bounds the evaluation of SPF. */
const spfLookups = { maxResolveCount: 10, maxVoidCount: 2 };
/** A domain without a policy of its own is held against this one: any aligned pass proves the sender. */
const defaultPolicy = 'v=DMARC1; p=none';

/**
 * Whether the domain in the mail's `From` vouches for it: by SPF of the sending server, or by a DKIM signature over the
 * whole body, in alignment with that domain (RFC 7489). A mail from a mailbox has only its signatures to show.
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
  // Two senders, or one that the parser reads in another way, leave open who is answered.
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
    // A signature over the first part of the body lets anybody write the rest.
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
