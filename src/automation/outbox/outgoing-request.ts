import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { SecretRef, SecretValue, Vault } from '../../tenancy/vault/index.js';
import type { Callback, CallbackAuth } from '../triggers/config/execution-config.js';
import type { SecretFields } from '../triggers/config/fields.js';
import { slackText } from '../messages/slack-text.js';
import type { ChannelAddresses, WebhookConfig } from '../triggers/config/webhook-config.js';
import { callbackRequest, type ChunkNames, type OutgoingRequest } from './callback-body.js';
import { callbackSignature } from './callback-signature.js';
import type { DeliveryContent } from './delivery-content.js';

/** A permanent reason why a chunk cannot be sent; retrying is useless. */
export class Unsendable extends Error {
  override readonly name = 'Unsendable';
}

export interface OutgoingParts {
  readonly vault: Pick<Vault, 'resolve'>;
  readonly channels: ChannelAddresses;
}

/** A chunk as one request, with its credential and signature. `ours`: the operator configured the destination. */
export interface SignedRequest extends OutgoingRequest {
  readonly ours: boolean;
  /** What the owner should know if the receiver refuses. */
  readonly hint?: string | undefined;
  /** The fault that a success status hides, if the receiver reports faults in the body. */
  readonly faultIn?: (body: string) => HiddenFault | undefined;
}

export interface HiddenFault {
  readonly error: string;
  /** Whether a retry cannot succeed. */
  readonly final: boolean;
}

export interface Chunk {
  readonly scope: TenantScope;
  readonly config: Pick<WebhookConfig, 'channel'> & {
    readonly execution: { readonly callback?: Callback | undefined };
  };
  /** The trigger's secrets, the current one first. */
  readonly secrets: readonly SecretValue[];
  readonly content: DeliveryContent;
  readonly names: ChunkNames;
  /** The same for every attempt. */
  readonly key: string;
  readonly now: Date;
}

export async function outgoingRequest(parts: OutgoingParts, chunk: Chunk): Promise<SignedRequest> {
  if (chunk.config.execution.callback !== undefined) return callbackOf(parts, chunk);
  const { channel } = chunk.config;
  const { reply } = chunk.content;
  if (channel?.auth === undefined || reply === undefined) {
    throw new Unsendable(
      'The trigger has neither a callback nor a channel with credentials to send answers through.',
    );
  }
  const secret = (await resolve(parts, chunk.scope, channel.auth)).reveal();
  switch (channel.type) {
    case 'twilio':
      return twilioMessage(parts.channels.twilio, secret, reply, chunk);
    case 'whatsapp_cloud':
      return whatsappMessage(parts.channels.whatsapp_cloud, secret, reply, chunk);
    case 'slack':
      return slackMessage(parts.channels.slack, secret, reply, chunk);
  }
}

async function callbackOf(parts: OutgoingParts, chunk: Chunk): Promise<SignedRequest> {
  const { callback } = chunk.config.execution;
  const { context, error } = chunk.content;
  const request = callback === undefined ? undefined : callbackRequest(callback, context, chunk.names, error);
  if (callback === undefined || request === undefined) {
    throw new Unsendable('The URL of the callback cannot be filled in from the message.');
  }
  return {
    ...request,
    ours: false,
    // A trigger that got its callback by a change, of the release before, signs nothing. Its receiver may not mind.
    hint:
      chunk.secrets.length > 0
        ? undefined
        : 'The callback is not signed: the trigger has no secret. Rotate its secret to give it one.',
    headers: {
      ...request.headers,
      ...(await credential(parts, chunk.scope, callback.auth)),
      'idempotency-key': chunk.key,
      ...callbackSignature(chunk.key, chunk.now, request.body, chunk.secrets),
    },
  };
}

async function credential(
  parts: OutgoingParts,
  scope: TenantScope,
  auth: CallbackAuth,
): Promise<Readonly<Record<string, string>>> {
  if (auth.type === 'none') return {};
  const value = (await resolve(parts, scope, auth)).reveal();
  switch (auth.type) {
    case 'bearer':
      return { authorization: `Bearer ${value}` };
    case 'basic':
      return { authorization: basic(value) };
    case 'api_key':
      return { [auth.header.toLowerCase()]: value };
  }
}

async function resolve(
  { vault }: OutgoingParts,
  scope: TenantScope,
  { secret_ref: name, vault_secret_id }: SecretFields,
): Promise<SecretValue> {
  const ref: SecretRef = name ?? { vault_secret_id: vault_secret_id ?? '' };
  return (await vault.resolve(scope, ref)).value;
}

function basic(userAndPassword: string): string {
  return `Basic ${Buffer.from(userAndPassword, 'utf8').toString('base64')}`;
}

type Reply = NonNullable<DeliveryContent['reply']>;

function twilioMessage(base: string, secret: string, reply: Reply, { names, key }: Chunk): SignedRequest {
  const [account = ''] = secret.split(':', 1);
  return {
    url: `${base.replace(/\/+$/, '')}/2010-04-01/Accounts/${encodeURIComponent(account)}/Messages.json`,
    method: 'POST',
    ours: true,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: basic(secret),
      'idempotency-key': key,
    },
    body: new URLSearchParams({ To: reply.to, From: reply.from, Body: names.agent_response }).toString(),
  };
}

const whatsappSecret = z.object({ access_token: z.string().min(1) });
const whatsappVersion = 'v23.0';

function whatsappMessage(base: string, secret: string, reply: Reply, { names, key }: Chunk): SignedRequest {
  return {
    url: `${base.replace(/\/+$/, '')}/${whatsappVersion}/${encodeURIComponent(reply.from)}/messages`,
    method: 'POST',
    ours: true,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${accessTokenOf(secret)}`,
      'idempotency-key': key,
    },
    body: JSON.stringify({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: reply.to,
      type: 'text',
      text: { preview_url: false, body: names.agent_response },
    }),
  };
}

const slackSecret = z.object({ bot_token: z.string().min(1) });
const slackAnswer = z.object({ ok: z.boolean(), error: z.string().max(200).optional() });
/** Slack's codes for what 5xx and 429 say elsewhere. As there, a message may have arrived although the answer is a fault. */
const slackPassing: ReadonlySet<string> = new Set([
  'external_channel_migrating',
  'fatal_error',
  'internal_error',
  'message_limit_exceeded',
  'rate_limited',
  'ratelimited',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
]);

function slackMessage(base: string, secret: string, reply: Reply, { names, key }: Chunk): SignedRequest {
  const parsed = slackSecret.safeParse(jsonOf(secret));
  if (!parsed.success) throw new Unsendable('The channel secret must be a JSON object with a bot_token.');
  return {
    url: `${base.replace(/\/+$/, '')}/api/chat.postMessage`,
    method: 'POST',
    ours: true,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      authorization: `Bearer ${parsed.data.bot_token}`,
      'idempotency-key': key,
    },
    body: JSON.stringify({
      channel: reply.to,
      thread_ts: reply.from,
      text: slackText(names.agent_response),
    }),
    faultIn: (body) => {
      const answer = slackAnswer.safeParse(jsonOf(body));
      if (answer.success && answer.data.ok) return undefined;
      const code = answer.data?.error;
      return {
        error: `Slack refused the message: ${code ?? 'its answer cannot be read'}.`,
        final: code === undefined || !slackPassing.has(code),
      };
    },
  };
}

function accessTokenOf(secret: string): string {
  const parsed = whatsappSecret.safeParse(jsonOf(secret));
  if (parsed.success) return parsed.data.access_token;
  throw new Unsendable('The channel secret must be a JSON object with an access_token.');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The schema then reports it, without revealing the value.
    return undefined;
  }
}
