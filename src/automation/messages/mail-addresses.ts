import type { TenantScope } from '../../kernel/tenant-scope.js';
import { invalidField } from '../../kernel/errors.js';
import type { MailDomains } from '../../tenancy/mail-domains/index.js';
import type { EmailConfig } from '../triggers/config/source-configs.js';
import type { LiveTrigger } from '../triggers/live-triggers.js';

export interface MailAddressParts {
  /** `TROUPE_MAIL_DOMAIN`; where it is set, mail for triggers is taken in it and in proved domains alone. */
  readonly domain: string | undefined;
  /**
   * What stands in for it where mails leave the machine without it; undefined where they become files, which may come
   * from any address.
   */
  readonly fallbackDomain: () => string | undefined;
  readonly domains: Pick<MailDomains, 'tenantOf'>;
}

/** How an answer is signed. */
export interface SendingAs {
  readonly from: string;
  readonly replyTo?: string | undefined;
}

type Addressed = Pick<LiveTrigger, 'id' | 'scope'>;

/**
 * Which addresses a trigger may use. Mails leave from the operator's own domain or from one that the tenant has proved:
 * otherwise whoever has an account sends mail in anybody's name from the operator's server.
 */
export class MailAddresses {
  readonly #parts: MailAddressParts;

  constructor(parts: MailAddressParts) {
    this.#parts = parts;
  }

  /** Whether an address is the trigger's own, by its form. Without a domain of the operator any domain will do. */
  triggerIdIn(address: string): string | undefined {
    const at = address.lastIndexOf('@');
    const { domain } = this.#parts;
    return domain === undefined || address.slice(at + 1) === domain
      ? address.slice(0, Math.max(0, at))
      : undefined;
  }

  /** Who may claim the address; undefined where the first to write it down may. */
  async claimant(address: string): Promise<{ readonly tenantId: string | undefined } | undefined> {
    if (this.#domain() === undefined) return undefined;
    return { tenantId: await this.#parts.domains.tenantOf(domainOf(address)) };
  }

  /** Refuses an address that the tenant has not proved, where the trigger is written. */
  async check(scope: TenantScope, triggerId: string | undefined, { address }: EmailConfig): Promise<void> {
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

  /** What a reply of the trigger is sent as; `recipient` is the address that was written to. */
  async sendingAs({ id, scope }: Addressed, config: EmailConfig, recipient: string): Promise<SendingAs> {
    const domain = this.#domain();
    if (domain === undefined) return { from: recipient };
    const own = `${id}@${domain}`;
    const address = config.address?.toLowerCase();
    const from = address !== undefined && (await this.#isProved(scope, address)) ? address : own;
    return { from, replyTo: mailboxOf(config) ?? own };
  }

  /** Whose mails are the trigger's own, which it must not answer. */
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

/** The address of the mailbox that is looked into, where its user is called by it. */
export function mailboxOf({ imap }: EmailConfig): string | undefined {
  return imap?.user.includes('@') === true ? imap.user.toLowerCase() : undefined;
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}
