import { Webhook } from 'standardwebhooks';
import type { SecretValue } from '../../tenancy/vault/index.js';

/** The headers of Standard Webhooks; with two secrets, while one is rotated, two signatures. */
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
