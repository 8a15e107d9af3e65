import { SecretValue } from '../../../src/tenancy/vault/index.js';

/** The secret with the password of a mailbox, as the vault resolves it. */
export function mailboxSecret(password: string) {
  return {
    id: '018f0000-0000-7000-8000-0000000000aa',
    name: 'mailbox',
    kind: 'generic' as const,
    provider: null,
    allowedHosts: null,
    version: 1,
    value: new SecretValue(password),
  };
}
