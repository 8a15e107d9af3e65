/** The checks of `troupe doctor` for external services: mail, token issuer, model vendors. */
import { systemTime } from '../../../cluster/index.js';
import type { Settings } from '../../kernel/config/index.js';
import { examineNameServers } from '../../infra/egress/index.js';
import { examineIssuer } from '../../tenancy/identity/index.js';
import { examineMailServer } from '../../infra/mail/index.js';
import { outsideIssuerOf, vendorSettings } from '../node/outside-services.js';
import { reasonsOf } from './command.js';
import type { Finding } from './finding.js';

export async function checkOutsideServices(settings: Settings): Promise<readonly Finding[]> {
  return (
    await Promise.all([
      checkMail(settings),
      checkMailIn(settings),
      checkIssuer(settings),
      checkModels(settings),
    ])
  ).flat();
}

async function checkMail({ smtpUrl }: Settings): Promise<readonly Finding[]> {
  const what = 'mail';
  if (smtpUrl === undefined) {
    const says = 'TROUPE_SMTP_URL is unset; mails are written to the folder outbox in the data folder';
    return [{ what, state: 'warning', says }];
  }
  return attempt(what, 'check TROUPE_SMTP_URL and the network', async () => {
    await examineMailServer(smtpUrl);
    return 'the server accepts our mail';
  });
}

async function checkMailIn({
  smtpInPort,
  mailDomain,
  mailSenderCheck,
}: Settings): Promise<readonly Finding[]> {
  const what = 'mail for triggers';
  if (smtpInPort === undefined) return [];
  if (mailDomain === undefined) {
    const says =
      'TROUPE_SMTP_IN_PORT needs TROUPE_MAIL_DOMAIN, which is unset; `troupe serve` refuses to start';
    return [{ what, state: 'warning', says }];
  }
  if (mailSenderCheck === 'off') {
    const says = `mail for ${mailDomain} is accepted without checking the sender; set TROUPE_MAIL_SENDER_CHECK to dmarc`;
    return [{ what, state: 'warning', says }];
  }
  return attempt(what, 'senders are checked by DNS; check the name servers of this machine', async () => {
    await examineNameServers(mailDomain);
    return `mail for ${mailDomain} is accepted on port ${smtpInPort}, and senders are checked`;
  });
}

async function checkIssuer(settings: Settings): Promise<readonly Finding[]> {
  if (settings.oidcIssuer === undefined && settings.oidcAudience === undefined) return [];
  return attempt('outside issuer', 'check TROUPE_OIDC_ISSUER and TROUPE_OIDC_AUDIENCE', async () => {
    await examineIssuer(outsideIssuerOf(settings)?.issuer ?? '', systemTime);
    return 'publishes its keys';
  });
}

async function checkModels(settings: Settings): Promise<readonly Finding[]> {
  const what = 'models';
  return attempt(what, 'correct the named setting', async () => {
    const { vendors, compatible, clouds = [] } = await vendorSettings(settings);
    const keyed = Object.entries(vendors).flatMap(([vendor, { apiKeys = [] }]) =>
      apiKeys.length === 0 ? [] : [vendor],
    );
    const known = [...keyed, ...[...compatible, ...clouds].map(({ name }) => name)];
    return known.length === 0
      ? 'no vendor has a key; tenants may bring their own'
      : `keys for ${known.join(', ')}`;
  });
}

async function attempt(
  what: string,
  remedy: string,
  look: () => Promise<string>,
): Promise<readonly Finding[]> {
  try {
    return [{ what, state: 'ok', says: await look() }];
  } catch (error) {
    return [{ what, state: 'wrong', says: `${reasonsOf(error).join(': ')}; ${remedy}` }];
  }
}
