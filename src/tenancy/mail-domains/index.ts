// Domains that tenants verify, to send mail from their own addresses.
import type { Operation } from '../../http/operations/index.js';
import { MailDomains, type MailDomainsOptions, type MailDomainsPlatform } from './mail-domains.js';
import { mailDomainOperations } from './operations.js';

export type { MailDomains } from './mail-domains.js';

export interface MailDomainsSubject {
  readonly operations: readonly Operation[];
  readonly domains: MailDomains;
}

export function createMailDomains(
  platform: MailDomainsPlatform,
  options: MailDomainsOptions,
): MailDomainsSubject {
  const domains = new MailDomains(platform, options);
  return { operations: mailDomainOperations(domains), domains };
}
