// An email trigger as nodes hold it, for tests that need no database.
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { type EmailConfig, emailConfig } from '../../../src/automation/triggers/config/email-config.js';
import type { MailTrigger } from '../../../src/automation/mail/mail-intake.js';

const emailTriggerId = '018f0000-0000-7000-8000-000000000002';

export function emailTrigger(imap?: EmailConfig['imap']): MailTrigger {
  const config = emailConfig.parse({ reply: false, imap });
  return {
    trigger: {
      id: emailTriggerId,
      scope: tenantScope('018f0000-0000-7000-8000-000000000001'),
      limits: { plan: 'free', requestsPerMinute: 1, requestsPerDay: 1, monthlyTokens: 1, keyRpmMax: 1 },
      agentId: emailTriggerId,
      enabled: true,
      suspended: false,
      revision: 1,
      parsed: { type: 'email', config },
      secrets: [],
      formerSecretUntilMs: 0,
    },
    config,
  };
}
