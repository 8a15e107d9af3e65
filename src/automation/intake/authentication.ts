import { LRUCache } from 'lru-cache';
import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import type { Ready } from '../../kernel/ready.js';
import type { KeyCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import { type Admitted, allows, type RateFigures } from '../../http/operations/index.js';
import type { SecretRef, SecretValue, Vault } from '../../tenancy/vault/index.js';
import type { ChannelType, WebhookConfig } from '../triggers/config/webhook-config.js';
import { type LiveTrigger, validSecrets } from '../triggers/live-triggers.js';
import { formOf } from './payload.js';
import { isHubSigned, isSigned, isSlackSigned, isTimestampInBody, isTwilioSigned } from './signature.js';

/** A webhook request as received. */
export interface WebhookRequest {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** The URL with query, under our own host name and under the name that the sender used. */
  readonly urls: () => readonly string[];
  readonly address: string;
  readonly requestId: string;
}

export interface WebhookAuthenticationParts {
  readonly vault: Pick<Vault, 'resolveAll'>;
  readonly time: Time;
  readonly authenticateKey: (apiKey: string, address: string) => KeyCaller | Promise<KeyCaller>;
  /** Counts one request of the key. */
  readonly admitKey: (caller: KeyCaller) => Admitted | Promise<Admitted>;
}

export interface SendersKey {
  readonly key: KeyCaller;
  /** The figures of the key's window, including this request. */
  readonly figures: RateFigures;
}

/** A channel's secret is read again after this time, which bounds how long an old value stays in force. */
const channelSecretMs = 2_000;
const channelSecretsMax = 5_000;
const whatsappSecret = z.object({ app_secret: z.string().min(1) }).transform((secret) => secret.app_secret);
const slackSecret = z
  .object({ signing_secret: z.string().min(1) })
  .transform((secret) => secret.signing_secret);

/** Whether anyone who knows the address of the webhook may send. */
export function isOpen({ channel, auth }: WebhookConfig): boolean {
  return channel?.auth === undefined && auth.type === 'none';
}

/** Authenticates the sender of a webhook request as its trigger demands. */
export class WebhookAuthentication {
  readonly #parts: WebhookAuthenticationParts;
  readonly #channelSecrets: LRUCache<string, readonly SecretValue[]>;

  constructor(parts: WebhookAuthenticationParts) {
    this.#parts = parts;
    this.#channelSecrets = new LRUCache({
      max: channelSecretsMax,
      ttl: channelSecretMs,
      ttlResolution: 0,
      perf: { now: () => parts.time.monotonicMs() },
    });
  }

  /** Returns the API key of the request, if it has one. Throws 401 for any other sender. */
  authenticate(
    trigger: LiveTrigger,
    config: WebhookConfig,
    request: WebhookRequest,
  ): Ready<SendersKey | undefined> {
    const { channel, auth } = config;
    if (channel?.auth !== undefined) {
      return this.#requireVendor(trigger, { ...channel, auth: channel.auth }, request).then(() => undefined);
    }
    switch (auth.type) {
      case 'none':
        return undefined;
      case 'api_key':
        return this.#requireKey(trigger, request);
      case 'signature':
        this.#requireSignature(trigger, auth.require_timestamp, request);
        return undefined;
    }
  }

  /** The token check that a platform makes before it sends messages. */
  isVerifyToken(trigger: LiveTrigger, token: string): boolean {
    const given = Buffer.from(token);
    let matches = false;
    for (const secret of validSecrets(trigger, this.#parts.time.wallMs())) {
      const expected = Buffer.from(secret.reveal());
      if (expected.length === given.length && timingSafeEqual(expected, given)) matches = true;
    }
    return matches;
  }

  #requireSignature(trigger: LiveTrigger, requireTimestamp: boolean, request: WebhookRequest): void {
    const nowMs = this.#parts.time.wallMs();
    const signedRequest = {
      body: request.body,
      signature: request.headers['x-webhook-signature'],
      timestamp: request.headers['x-webhook-timestamp'],
    };
    const signed = isSigned(signedRequest, validSecrets(trigger, nowMs), { requireTimestamp, nowMs });
    if (!signed)
      throw isTimestampInBody(signedRequest) ? timestampMissing() : new PlatformError('invalid_signature');
  }

  async #requireKey(trigger: LiveTrigger, request: WebhookRequest): Promise<SendersKey> {
    const apiKey = request.headers['x-api-key'] ?? bearerOf(request.headers['authorization']);
    if (apiKey === undefined) {
      throw new PlatformError('authentication_required', {
        message: 'This webhook needs an API key of its tenant in X-Api-Key.',
      });
    }
    const caller = await this.#parts.authenticateKey(apiKey, request.address);
    // A key of another tenant gets the same error as an invented one.
    if (caller.scope.tenantId !== trigger.scope.tenantId || !allows(caller.role, 'agents:chat')) {
      throw new PlatformError('invalid_api_key');
    }
    const { refusal, figures } = await this.#parts.admitKey(caller);
    if (refusal !== undefined) throw refusal;
    return { key: caller, figures };
  }

  async #requireVendor(
    trigger: LiveTrigger,
    channel: {
      readonly type: ChannelType;
      readonly auth: NonNullable<NonNullable<WebhookConfig['channel']>['auth']>;
    },
    { body, headers, urls }: WebhookRequest,
  ): Promise<void> {
    const { secret_ref: name, vault_secret_id } = channel.auth;
    const secrets = await this.#secretsOf(trigger, name ?? { vault_secret_id: vault_secret_id ?? '' });
    const isSignedWith = (secret: string): boolean => {
      switch (channel.type) {
        case 'twilio':
          return isTwilioSigned(urls(), formOf(body), headers['x-twilio-signature'], afterColon(secret));
        case 'whatsapp_cloud':
          return isHubSigned(body, headers['x-hub-signature-256'], keyIn(secret, whatsappSecret));
        case 'slack': {
          const sent = {
            signature: headers['x-slack-signature'],
            timestamp: headers['x-slack-request-timestamp'],
          };
          return isSlackSigned(body, sent, keyIn(secret, slackSecret), this.#parts.time.wallMs());
        }
      }
    };
    const signed = secrets.map((secret) => isSignedWith(secret.reveal()));
    if (!signed.includes(true)) throw new PlatformError('invalid_signature');
  }

  async #secretsOf({ scope }: LiveTrigger, ref: SecretRef): Promise<readonly SecretValue[]> {
    const key = `${scope.tenantId} ${JSON.stringify(ref)}`;
    const kept = this.#channelSecrets.get(key);
    if (kept !== undefined) return kept;
    const secrets = await this.#parts.vault.resolveAll(scope, ref).catch((error: unknown) => {
      // A deleted secret verifies no signature.
      if (error instanceof PlatformError && error.code === 'not_found') return [];
      throw error;
    });
    this.#channelSecrets.set(key, secrets);
    return secrets;
  }
}

function timestampMissing(): PlatformError {
  return new PlatformError('invalid_signature', {
    message:
      'The body begins like a Unix timestamp and a dot, so its signature may belong to another request. ' +
      'Send X-Webhook-Timestamp, and sign <timestamp>.<body>.',
  });
}

function bearerOf(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

/** `<account_id>:<auth_token>` */
function afterColon(secret: string): string {
  return secret.slice(secret.indexOf(':') + 1);
}

/** Throws `invalid_signature` if the secret holds no such key, since no signature can match. */
function keyIn(secret: string, shape: z.ZodType<string>): string {
  try {
    return shape.parse(JSON.parse(secret));
  } catch (cause) {
    throw new PlatformError('invalid_signature', { cause });
  }
}
