import { Webhook } from 'standardwebhooks';
import type { SecretValue } from '../../tenancy/vault/index.js';

/** Headers of the Standard Webhooks specification; two signatures while a secret is rotated. */
export function callbackSignature(
  id: string,
  at: Date,
  body: string,
  secrets: readonly SecretValue[],
): Readonly<Record<string, string>> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret.reveal()).sign(id, at, body)).join(' '),
  };
}
