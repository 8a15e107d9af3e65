import { domainToASCII } from 'node:url';
import { z } from 'zod';

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The domain as DNS writes it: lower case, ASCII, no final dot. Undefined if the text is not a domain. */
export function readDomain(text: string): string | undefined {
  const ascii = domainToASCII(text.trim().replace(/\.$/, '').toLowerCase());
  const labels = ascii.split('.');
  const isDomain = ascii.length <= 253 && labels.length >= 2 && labels.every((one) => label.test(one));
  // A numeric last label means an IP address.
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
