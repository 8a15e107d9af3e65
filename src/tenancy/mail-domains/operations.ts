import { z } from 'zod';
import {
  named,
  declare,
  done,
  doneShape,
  list,
  listShape,
  one,
  oneShape,
  type Operation,
  tenantUser,
  givenUuid,
} from '../../http/operations/index.js';
import { domainName } from './domain-name.js';
import { type MailDomains, proofOf } from './mail-domains.js';
import type { MailDomainRow } from './mail-domains.store.js';

const params = z.object({ id: givenUuid });
const moment = z.iso.datetime();

const answer = named(
  'MailDomain',
  z.object({
    id: z.uuid(),
    domain: z.string(),
    status: z.enum(['pending', 'verified']),
    record: z
      .object({ type: z.literal('TXT'), name: z.string(), value: z.string() })
      .describe('The record to set in the DNS of the domain.'),
    created_at: moment,
    verified_at: moment.nullable(),
  }),
);

export function mailDomainOperations(domains: MailDomains): readonly Operation[] {
  return [
    declare({
      name: 'mail-domains.list',
      method: 'GET',
      path: '/api/mail-domains',
      title: 'List the domains that the tenant sends mail from',
      description: 'Newest first, verified or not.',
      access: tenantUser('mail_domains:read'),
      output: listShape(answer),
      handle: async ({ caller }) => list((await domains.list(caller.scope)).map(answerOf)),
    }),
    declare({
      name: 'mail-domains.create',
      method: 'POST',
      audit: 'mail-domains.create',
      idempotency: 'made',
      path: '/api/mail-domains',
      title: 'Add a domain to send mail from',
      description:
        'Returns the TXT record to set. Email triggers may use addresses of the domain once it is verified.',
      access: tenantUser('mail_domains:write'),
      body: z.object({ domain: domainName }),
      output: oneShape(answer),
      status: 201,
      errors: ['email_unverified', 'conflict'],
      handle: async ({ caller, body: { domain } }) => one(answerOf(await domains.add(caller, domain))),
    }),
    declare({
      name: 'mail-domains.verify',
      method: 'POST',
      audit: 'mail-domains.verify',
      idempotency: { exempt: 'a repeat finds the domain verified' },
      path: '/api/mail-domains/:id/verify',
      title: 'Look up the TXT record of a mail domain',
      description:
        'Refused with `conflict` if the record is missing or another tenant has verified the domain, and with `provider_error` if the name servers do not answer.',
      access: tenantUser('mail_domains:write'),
      params,
      output: oneShape(answer),
      errors: ['not_found', 'conflict', 'provider_error'],
      handle: async ({ caller, params: { id } }) => one(answerOf(await domains.verify(caller, id))),
    }),
    declare({
      name: 'mail-domains.delete',
      method: 'DELETE',
      audit: 'mail-domains.delete',
      path: '/api/mail-domains/:id',
      title: 'Remove a mail domain',
      description: 'Triggers with an address in the domain send from their own address again.',
      access: tenantUser('mail_domains:write'),
      params,
      output: doneShape,
      errors: ['not_found'],
      handle: async ({ caller, params: { id } }) => {
        await domains.remove(caller, id);
        return done('The mail domain was removed.');
      },
    }),
  ];
}

function answerOf(row: MailDomainRow): z.input<typeof answer> {
  return {
    id: row.id,
    domain: row.domain,
    status: row.verified_at === null ? 'pending' : 'verified',
    record: { ...proofOf(row) },
    created_at: row.created_at.toISOString(),
    verified_at: row.verified_at?.toISOString() ?? null,
  };
}
