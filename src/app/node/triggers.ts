import { readFile } from 'node:fs/promises';
import type { AgentsSubject } from '../../agents/index.js';
import type { Settings } from '../../kernel/config/index.js';
import { type ConsumersSubject, denylistTopic } from '../../conversations/consumers/index.js';
import { type TenantScope, tenantScope } from '../../kernel/tenant-scope.js';
import type { Databases } from '../../automation/databases/index.js';
import { createEgress, type Egress, type LookUpRecords } from '../../infra/egress/index.js';
import type { Expressions } from '../../infra/expressions/index.js';
import { identityTopics } from '../../tenancy/identity/index.js';
import type { Keys } from '../../tenancy/keys/index.js';
import type { Platform } from '../../infra/platform/index.js';
import { hostOf, type Mail } from '../../infra/mail/index.js';
import type { MailDomains } from '../../tenancy/mail-domains/index.js';
import type { ClientWindows, FailedCredentials, Quota } from '../../tenancy/quota/index.js';
import type { Attachments } from '../../conversations/attachments/index.js';
import { realtimeTopic } from '../../conversations/realtime/index.js';
import type { Sandbox } from '../../infra/sandbox/index.js';
import type { Sealer } from '../../infra/sealing/index.js';
import type { SessionsSubject } from '../../conversations/sessions/index.js';
import { createTriggers, SessionTurns, type TriggersSubject } from '../../automation/index.js';
import type { Vault } from '../../tenancy/vault/index.js';
import type { NodeEnvironment } from './node-environment.js';

interface TriggerNeeds {
  readonly vault: Vault;
  readonly sealer: Sealer;
  readonly egress: Egress;
  readonly sandbox: Sandbox;
  readonly expressions: Expressions;
  readonly quota: Quota;
  readonly keys: Pick<Keys, 'authenticateKey'>;
  readonly failures: FailedCredentials;
  readonly windows: (kind: string) => ClientWindows;
  readonly agents: AgentsSubject;
  readonly databases: Databases;
  readonly mail: Mail;
  readonly mailDomains: MailDomains;
  readonly requireVerified: (scope: TenantScope, work: string) => Promise<void>;
  readonly lookUp: LookUpRecords;
  readonly sessions: SessionsSubject;
  readonly attachments: Attachments;
  readonly consumers: Pick<ConsumersSubject, 'isDenied'>;
  readonly mayAct: () => boolean;
}

export async function makeTriggers(
  environment: NodeEnvironment,
  platform: Platform,
  needs: TriggerNeeds,
): Promise<TriggersSubject> {
  const { settings, atEnd, publicUrl } = environment;
  const { sessions, attachments, keys, consumers, ...parts } = needs;
  // The operator sets the addresses of channel vendors, so private addresses are allowed.
  const operatorEgress = createEgress({ allow: ['0.0.0.0/0', '::/0'] });
  atEnd(() => operatorEgress.close());
  const triggers = createTriggers(platform, {
    ...parts,
    operatorEgress,
    authenticateKey: keys.authenticateKey,
    consumers,
    sessions: sessions.sessions,
    turns: new SessionTurns({
      sessions: sessions.sessions,
      admission: sessions.admission,
      attachments,
      quota: parts.quota,
      time: platform.time,
      newId: () => platform.ids.uuid(),
    }),
    channels: {
      twilio: settings.twilioBaseUrl ?? 'https://api.twilio.com',
      whatsapp_cloud: settings.whatsappBaseUrl ?? 'https://graph.facebook.com',
      slack: settings.slackBaseUrl ?? 'https://slack.com',
    },
    scopeOf: tenantScope,
    tenantTopic: identityTopics.tenant,
    blockTopics: [denylistTopic, realtimeTopic],
    publicUrl,
    smtpIn: await smtpInOf(settings),
    mailDomain: settings.mailDomain,
    // Without SMTP, mails are only written to files, so any sender domain is acceptable.
    fallbackMailDomain: () => (settings.smtpUrl === undefined ? undefined : hostOf(publicUrl())),
    checksSenders: settings.mailSenderCheck === 'dmarc',
  });
  sessions.sessions.beforeTakeoverIsAnswered((scope, sessionId) => triggers.quiet(scope, sessionId));
  atEnd(() => triggers.stop());
  return triggers;
}

/** With a certificate, senders can use TLS. Both files must be set, or neither. */
async function smtpInOf(settings: Settings) {
  const { smtpInPort: port, smtpInTlsCert, smtpInTlsKey, httpHost: host } = settings;
  if (port === undefined) return undefined;
  if (smtpInTlsCert === undefined && smtpInTlsKey === undefined) return { host, port };
  const [cert, key] = await Promise.all([
    pemOf('TROUPE_SMTP_IN_TLS_CERT', smtpInTlsCert),
    pemOf('TROUPE_SMTP_IN_TLS_KEY', smtpInTlsKey),
  ]);
  return { host, port, tls: { cert, key } };
}

async function pemOf(variable: string, path: string | undefined): Promise<Buffer> {
  if (path === undefined) throw new Error(`${variable} is missing: TLS for mail needs certificate and key`);
  try {
    return await readFile(path);
  } catch (cause) {
    throw new Error(`the file in ${variable} (${path}) cannot be read`, { cause });
  }
}
