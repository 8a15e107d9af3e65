import type { TenantScope } from '../../kernel/tenant-scope.js';
import { invalidField } from '../../kernel/errors.js';
import type { MailDomains } from '../../tenancy/mail-domains/index.js';
import type { EmailConfig } from '../triggers/config/email-config.js';
import type { LiveTrigger } from '../triggers/live-triggers.js';

export interface MailAddressParts {
  /** `TROUPE_MAIL_DOMAIN`. If it is set, mail for triggers is accepted in this domain and in proved domains only. */
  readonly domain: string | undefined;
  /**
   * The replacement if mails leave the machine without that setting; undefined if mails are written to files, which may
   * come from any address.
   */
  readonly fallbackDomain: () => string | undefined;
  readonly domains: Pick<MailDomains, 'tenantOf'>;
  /** Throws `email_unverified` if the tenant may not send mail in the platform's name. */
  readonly requireVerified: (scope: TenantScope, work: string) => Promise<void>;
}

/** The addresses of an outgoing answer. */
export interface SendingAs {
  readonly from: string;
  readonly replyTo?: string | undefined;
}

type Addressed = Pick<LiveTrigger, 'id' | 'scope'>;

/**
 * Which addresses a trigger may use. Mails leave from the operator's domain or from one that the tenant has proved;
 * otherwise any account could send mail in any name from the operator's server.
 */
export class MailAddresses {
  readonly #parts: MailAddressParts;

  constructor(parts: MailAddressParts) {
    this.#parts = parts;
  }

  /**
   * Whether an address has the form of a trigger's own address. Without an operator's domain, any domain is accepted.
   */
  triggerIdIn(address: string): string | undefined {
    const at = address.lastIndexOf('@');
    const { domain } = this.#parts;
    return domain === undefined || address.slice(at + 1) === domain
      ? address.slice(0, Math.max(0, at))
      : undefined;
  }

  /** The tenant that may claim the address; undefined if the first trigger that configures it may. */
  async claimant(address: string): Promise<{ readonly tenantId: string | undefined } | undefined> {
    if (this.#domain() === undefined) return undefined;
    return { tenantId: await this.#parts.domains.tenantOf(domainOf(address)) };
  }

  /** Refuses an address that the tenant has not proved, when the trigger is saved. */
  async check(scope: TenantScope, triggerId: string | undefined, { address }: EmailConfig): Promise<void> {
    await this.#parts.requireVerified(scope, 'An email trigger, which answers by mail,');
    const domain = this.#domain();
    if (address === undefined || domain === undefined) return;
    const spelled = address.toLowerCase();
    if (triggerId !== undefined && spelled === `${triggerId}@${domain}`) return;
    if (await this.#isProved(scope, spelled)) return;
    throw invalidField(
      'trigger_config.address',
      `is neither <trigger_id>@${domain} nor in a domain that this tenant has proved; add the domain with POST /api/mail-domains and verify it`,
    );
  }

  /** Throws `email_unverified` if the tenant may not send the mail that is due. */
  requireSender(scope: TenantScope): Promise<void> {
    return this.#parts.requireVerified(scope, 'An answer by mail');
  }

  /** The sender of the trigger's replies; `recipient` is the address that the mail was sent to. */
  async sendingAs({ id, scope }: Addressed, config: EmailConfig, recipient: string): Promise<SendingAs> {
    const domain = this.#domain();
    if (domain === undefined) return { from: recipient };
    const own = `${id}@${domain}`;
    const address = config.address?.toLowerCase();
    const from = address !== undefined && (await this.#isProved(scope, address)) ? address : own;
    return { from, replyTo: mailboxOf(config) ?? own };
  }

  /** Addresses of the trigger itself, which it must not answer. */
  ownAddresses({ id }: Addressed, config: EmailConfig, recipient: string): readonly string[] {
    const domain = this.#domain();
    return [
      recipient,
      ...(config.address === undefined ? [] : [config.address.toLowerCase()]),
      ...(domain === undefined ? [] : [`${id}@${domain}`]),
    ];
  }

  async #isProved(scope: TenantScope, address: string): Promise<boolean> {
    return (await this.#parts.domains.tenantOf(domainOf(address))) === scope.tenantId;
  }

  #domain(): string | undefined {
    return this.#parts.domain ?? this.#parts.fallbackDomain();
  }
}

/** The address of the polled mailbox, if its user name is an address. */
export function mailboxOf({ imap }: EmailConfig): string | undefined {
  return imap?.user.includes('@') === true ? imap.user.toLowerCase() : undefined;
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}
