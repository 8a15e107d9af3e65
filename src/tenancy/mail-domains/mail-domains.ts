import { within } from '../../../cluster/index.js';
import { recordAudit } from '../audit/index.js';
import type { FieldChanges } from '../../kernel/audit-context.js';
import { actorOf, type TenantCaller } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { LookUpRecords } from '../../infra/egress/index.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import type { Platform } from '../../infra/platform/index.js';
import { isUniqueViolation, type TenantTransaction } from '../../infra/storage/index.js';
import {
  countMailDomains,
  deleteMailDomain,
  findMailDomain,
  insertMailDomain,
  listMailDomains,
  type MailDomainRow,
  markVerified,
  tenantOfDomain,
} from './mail-domains.store.js';

/** Per tenant, verified or not. */
const domainsMax = 50;
/** Short, since a caller waits for the answer. */
const lookUpMs = 5_000;
const tokenBytes = 20;
/** Only this many TXT records of a name are read. */
const recordsMax = 100;

export type MailDomainsPlatform = Pick<Platform, 'store' | 'reads' | 'time' | 'ids' | 'random'>;

export interface MailDomainsOptions {
  readonly lookUp: LookUpRecords;
  /** The operator's own domain for triggers, which no tenant can have. */
  readonly operatorDomain: string | undefined;
  /** Throws `email_unverified` if the tenant may not send mail. */
  readonly requireVerified: (scope: TenantScope, work: string) => Promise<void>;
}

type MailDomainsParts = MailDomainsPlatform & MailDomainsOptions;

/** The TXT record that proves a domain. */
export interface ProofRecord {
  readonly type: 'TXT';
  readonly name: string;
  readonly value: string;
}

export function proofOf({ domain, token }: Pick<MailDomainRow, 'domain' | 'token'>): ProofRecord {
  return { type: 'TXT', name: `_troupe.${domain}`, value: `troupe-domain-verification=${token}` };
}

/** Domains that tenants may send mail from. A tenant proves each by a DNS record that only the domain's owner can set. */
export class MailDomains {
  readonly #parts: MailDomainsParts;

  constructor(platform: MailDomainsPlatform, options: MailDomainsOptions) {
    this.#parts = { ...platform, ...options };
  }

  async add(caller: TenantCaller, domain: string): Promise<MailDomainRow> {
    const { store, ids, random, time, operatorDomain } = this.#parts;
    if (domain === operatorDomain) throw invalidField('domain', 'is the domain of this installation');
    await this.#parts.requireVerified(caller.scope, 'A mail domain');
    return store.inTenant(caller.scope, async (tx) => {
      if ((await countMailDomains(caller.scope, tx)) >= domainsMax) {
        throw new PlatformError('conflict', {
          message: `A tenant holds at most ${domainsMax} mail domains. Delete one first.`,
        });
      }
      const row = await insertMailDomain(caller.scope, tx, {
        id: ids.uuid(),
        domain,
        token: Buffer.from(random.bytes(tokenBytes)).toString('hex'),
        createdBy: actorOf(caller),
        createdAt: new Date(time.wallMs()),
      });
      if (row === null) {
        throw new PlatformError('conflict', { message: `The tenant already has the mail domain ${domain}.` });
      }
      await audit(tx, caller, 'mail-domain.added', row);
      return row;
    });
  }

  list(scope: TenantScope): Promise<readonly MailDomainRow[]> {
    return this.#parts.store.inTenant(scope, (tx) => listMailDomains(scope, tx));
  }

  /** Looks the record up outside of the transaction, since name servers may be slow. */
  async verify(caller: TenantCaller, id: string): Promise<MailDomainRow> {
    const { store, time } = this.#parts;
    const { scope } = caller;
    const wanted = present(await store.inTenant(scope, (tx) => findMailDomain(scope, tx, id)));
    if (wanted.verified_at !== null) return wanted;
    await this.#requireProof(wanted);
    try {
      return await store.inTenant(scope, async (tx) => {
        const row = present(await markVerified(scope, tx, id, new Date(time.wallMs())));
        await audit(tx, caller, 'mail-domain.verified', row, {
          status: { old: 'pending', new: 'verified' },
        });
        return row;
      });
    } catch (cause) {
      if (!isUniqueViolation(cause, 'mail_domains_proved')) throw cause;
      const message = `Another tenant has verified ${wanted.domain}. That tenant must remove the domain first.`;
      throw new PlatformError('conflict', { message, cause });
    }
  }

  remove(caller: TenantCaller, id: string): Promise<void> {
    return this.#parts.store.inTenant(caller.scope, async (tx) => {
      await audit(tx, caller, 'mail-domain.removed', present(await deleteMailDomain(caller.scope, tx, id)));
    });
  }

  /** The tenant that has verified the domain. */
  tenantOf(domain: string): Promise<string | undefined> {
    return tenantOfDomain(this.#parts.reads, domain.toLowerCase());
  }

  async #requireProof(row: MailDomainRow): Promise<void> {
    const { name, value } = proofOf(row);
    const found = await this.#textsAt(name);
    if (found.includes(value)) return;
    const message = `No TXT record at ${name} says ${value}. Set it, wait until DNS has propagated it, and verify again.`;
    throw new PlatformError('conflict', { message, details: { record: { type: 'TXT', name, value } } });
  }

  /** The texts of the TXT records; empty if the name has none. */
  async #textsAt(name: string): Promise<readonly string[]> {
    const { lookUp, time } = this.#parts;
    try {
      const records = await within(time, lookUpMs, lookUp(name, 'TXT'), () => {
        throw new Error('not in time');
      });
      if (!Array.isArray(records)) return [];
      // A long text comes in several pieces.
      return records.slice(0, recordsMax).map((pieces: unknown) => [pieces].flat().join('').trim());
    } catch (cause) {
      const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
      if (code === 'ENOTFOUND' || code === 'ENODATA') return [];
      const message = `The name servers of ${name} did not answer; try again later.`;
      const details = {
        provider: 'dns',
        original_error: cause instanceof Error ? cause.message : String(cause),
      };
      throw new PlatformError('provider_error', { message, details, cause });
    }
  }
}

function present(row: MailDomainRow | null): MailDomainRow {
  if (row === null) throw new PlatformError('not_found', { message: 'The mail domain was not found.' });
  return row;
}

function audit(
  tx: TenantTransaction,
  caller: TenantCaller,
  action: string,
  { id, domain }: MailDomainRow,
  changes: FieldChanges = {},
): Promise<void> {
  return recordAudit(tx, {
    tenantId: caller.scope.tenantId,
    actor: actorOf(caller),
    action,
    subject: `mail-domain:${id}`,
    details: { domain },
    changes,
  });
}
