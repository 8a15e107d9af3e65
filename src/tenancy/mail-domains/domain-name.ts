import { domainToASCII } from 'node:url';
import { z } from 'zod';

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** A domain as DNS writes it: in lower case and ASCII, without the dot at its end. Undefined for what is none. */
export function readDomain(text: string): string | undefined {
  const ascii = domainToASCII(text.trim().replace(/\.$/, '').toLowerCase());
  const labels = ascii.split('.');
  const isDomain = ascii.length <= 253 && labels.length >= 2 && labels.every((one) => label.test(one));
  // The last label of an address in numbers is a number.
  return isDomain && !/^\d+$/.test(labels.at(-1) ?? '') ? ascii : undefined;
}

export const domainName = z
  .string()
  .min(1)
  .max(300)
  .transform((text, context) => {
    const domain = readDomain(text);
    if (domain !== undefined) return domain;
    context.addIssue({ code: 'custom', message: 'must be a domain such as example.com' });
    return z.NEVER;
  });
