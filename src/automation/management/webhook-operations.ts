import { z } from 'zod';
import { PlatformError } from '../../kernel/errors.js';
import { anyone, declare, type Operation, RawReply, givenUuid } from '../../http/operations/index.js';
import type { FailedCredentials } from '../../tenancy/quota/index.js';
import { requestsOf } from '../triggers/types/registry.js';
import { webhookUrlOf } from './responses.js';
import { shownWebhook } from './webhook-shapes.js';
import { servedReply } from '../outbox/replies/raw-reply.js';
import type { WebhookAuthentication } from '../intake/authentication.js';
import type { WebhookIntake } from '../intake/webhook.js';
import type { LiveTriggers } from '../triggers/live-triggers.js';

export interface WebhookOperationParts {
  readonly intake: WebhookIntake;
  readonly live: LiveTriggers;
  readonly authentication: WebhookAuthentication;
  readonly publicUrl: () => string;
  readonly failures: Pick<FailedCredentials, 'note'>;
}

/** The limit of wrong addresses and signatures per sender; wrong API keys are counted where keys are checked. */
const triedInVain: ReadonlySet<string> = new Set(['not_found', 'invalid_signature']);

const params = z.object({ id: givenUuid });
const challengeCharsMax = 1_000;

/** The public webhook endpoints; each trigger configures its own authentication. */
export function webhookOperations(parts: WebhookOperationParts): readonly Operation[] {
  const { intake, live, authentication, publicUrl, failures } = parts;

  /** The refusal for an address that has failed too often. */
  const counted = (error: unknown, address: string): unknown => {
    const isInVain = error instanceof PlatformError && triedInVain.has(error.code);
    return (isInVain ? failures.note(address) : undefined) ?? error;
  };

  return [
    declare({
      name: 'triggers.webhook',
      method: 'POST',
      audit: { exempt: 'webhooks leave no entry; the trigger execution is their record', entries: 'never' },
      idempotency: { exempt: 'the message of a webhook keeps the key' },
      path: '/api/triggers/webhook/:id',
      title: 'Execute a webhook trigger',
      description:
        'JSON, a form or text. The trigger’s `auth` setting, or its channel, decides who may send.',
      access: anyone(),
      rate: 'model-work',
      dialect: 'invocation',
      params,
      bodyRules: { form: 'raw' },
      headers: [
        'content-type',
        'x-webhook-signature',
        'x-webhook-timestamp',
        'x-webhook-id',
        'idempotency-key',
        'x-api-key',
        'authorization',
        'x-twilio-signature',
        'x-hub-signature-256',
        'x-slack-signature',
        'x-slack-request-timestamp',
        'x-slack-retry-num',
        'host',
      ],
      output: z.unknown(),
      shown: shownWebhook,
      errors: [
        'invalid_signature',
        'invalid_api_key',
        'trigger_disabled',
        'agent_not_found',
        'validation_error',
        'no_message',
        'idempotency_key_reused',
        'conflict',
        'quota_exceeded',
      ],
      handle: async ({ caller, params: { id }, rawBody, rawQuery, headers, requestId }) => {
        const taking = intake.take(id, {
          body: rawBody,
          headers: given(headers),
          urls: () => addressesOf(publicUrl(), headers['host'] ?? '', id, rawQuery),
          address: caller.address,
          requestId,
        });
        const { figures, ...rendered } = await taking.catch((error: unknown) => {
          throw counted(error, caller.address);
        });
        return servedReply(rendered, figures);
      },
    }),
    declare({
      name: 'triggers.webhook-challenge',
      method: 'GET',
      path: '/api/triggers/webhook/:id',
      title: 'Answer the verification of a webhook by its platform',
      description: 'Returns `hub.challenge` if `hub.verify_token` equals the webhook’s secret.',
      access: anyone(),
      rate: 'model-work',
      dialect: 'invocation',
      params,
      query: z.object({
        'hub.mode': z.string().optional(),
        'hub.verify_token': z.string().max(challengeCharsMax).optional(),
        'hub.challenge': z.string().max(challengeCharsMax).optional(),
      }),
      output: z.string(),
      contentType: 'text/plain',
      errors: ['invalid_signature'],
      handle: async ({ caller, params: { id }, query }) => {
        const trigger = await live.get(id);
        if (trigger === undefined || requestsOf(trigger.parsed)?.channel?.type !== 'whatsapp_cloud') {
          throw counted(
            new PlatformError('not_found', { message: 'The webhook was not found.' }),
            caller.address,
          );
        }
        if (trigger.suspended) throw new PlatformError('tenant_suspended');
        const { 'hub.mode': mode, 'hub.verify_token': token = '', 'hub.challenge': challenge } = query;
        if (
          mode !== 'subscribe' ||
          challenge === undefined ||
          !authentication.isVerifyToken(trigger, token)
        ) {
          throw counted(
            new PlatformError('invalid_signature', { message: 'The verify token does not match.' }),
            caller.address,
          );
        }
        return new RawReply('text/plain; charset=utf-8', challenge);
      },
    }),
  ];
}

/**
 * The URLs that a sender may have signed: the public one, and the host that it called, since a node behind another
 * name, or without `TROUPE_PUBLIC_URL`, cannot know its own. A sender with a false host still needs the secret.
 */
function addressesOf(publicUrl: string, host: string, id: string, rawQuery: string): readonly string[] {
  const called = /^[\w.:[\]-]{1,255}$/.test(host) ? [`https://${host}`, `http://${host}`] : [];
  const query = rawQuery === '' ? '' : `?${rawQuery}`;
  return [publicUrl, ...called].map((base) => webhookUrlOf(base, id) + query);
}

/** The router passes a missing header as empty text. */
function given(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const present: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name] ?? '';
    if (value !== '') present[name] = value;
  }
  return present;
}
