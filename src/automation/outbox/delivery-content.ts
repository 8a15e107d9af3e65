import { z } from 'zod';
import { type Ready, whenReady } from '../../kernel/ready.js';
import { derivedTransform, type TextWay, transformed } from './replies/transform.js';
import { type SplitAnswer, splitAnswer } from './replies/split.js';
import {
  type ResponseSettings,
  webhookConfig,
  type WebhookConfig,
} from '../triggers/config/webhook-config.js';
import { mailOf, requestsOf, type TriggerConfig } from '../triggers/types/registry.js';
import { mailPlace, type MessagePayload } from '../messages/message-payload.js';
import { fitsSlack, slackCharsSurelyTaken } from '../messages/slack-text.js';

const turnFailure = z.object({ code: z.string(), message: z.string() });

export type TurnFailure = z.output<typeof turnFailure>;

/** The sealed content of a delivery. Destination and credential are read from the trigger when it is sent. */
export const deliveryContent = z.object({
  chunks: z.array(z.string()).min(1),
  context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  reply: z.object({ to: z.string(), from: z.string() }).optional(),
  mail: mailPlace.optional(),
  consumerKey: z.string().optional(),
  /** Why there is no answer to send; then the only chunk is empty. */
  error: turnFailure.optional(),
  /** Written by a person: sent in any control mode. */
  manual: z.boolean(),
  /** The unsplit text, to compare a repeat: the splitting depends on the trigger, which may change meanwhile. */
  written: z.string().optional(),
});

export type DeliveryContent = z.output<typeof deliveryContent>;

/** Whether the trigger can send an answer to a message that arrived by this route. */
export function hasReplyRoute(
  parsed: TriggerConfig,
  { reply, mail }: Pick<MessagePayload, 'reply' | 'mail'>,
): boolean {
  if (parsed.config.execution.callback !== undefined) return true;
  const hasChannelRoute = requestsOf(parsed)?.channel?.auth !== undefined && reply !== undefined;
  return hasChannelRoute || hasMailRoute(parsed, { reply, mail });
}

/** Whether answers go back to the sender as mails. */
export function hasMailRoute(
  parsed: TriggerConfig,
  { reply, mail }: Pick<MessagePayload, 'reply' | 'mail'>,
): boolean {
  return mailOf(parsed)?.reply === true && reply !== undefined && mail !== undefined;
}

/** Whether answers are sent as our own requests instead of in the response to the sender. */
export function repliesOutOfBand({ execution, channel }: WebhookConfig): boolean {
  return execution.mode === 'async' || (channel !== undefined && channel.type !== 'twilio');
}

/** Whether the sender waits for the answer in the response to its request. */
export function answersInResponse(parsed: TriggerConfig): boolean {
  const requests = requestsOf(parsed);
  return requests !== undefined && !repliesOutOfBand(requests);
}

const plainResponse: ResponseSettings = webhookConfig.parse({});

/** How a response is written. Manual runs of triggers that take no requests respond like a webhook without settings. */
export function responseSettings(parsed: TriggerConfig): ResponseSettings {
  return requestsOf(parsed) ?? plainResponse;
}

export interface PreparedAnswer {
  readonly content: DeliveryContent;
  readonly truncated: boolean;
}

/** Prepares the answer for sending: transformed, then split. Mails are neither. Without `mail` it goes to the callback. */
export async function prepareAnswer(
  way: TextWay,
  parsed: TriggerConfig,
  text: string,
  {
    context,
    reply,
    mail,
    consumerKey,
  }: {
    readonly context: MessagePayload['context'];
    readonly reply?: MessagePayload['reply'] | undefined;
    readonly mail?: MessagePayload['mail'] | undefined;
    readonly consumerKey?: string | undefined;
  },
  manual = false,
): Promise<PreparedAnswer> {
  const { chunks, truncated } =
    mail === undefined ? await chunksOf(way, parsed, text) : { chunks: [text], truncated: false };
  return {
    truncated,
    content: {
      chunks: [...chunks],
      context,
      manual,
      ...(reply === undefined ? {} : { reply }),
      ...(mail === undefined ? {} : { mail }),
      ...(consumerKey === undefined ? {} : { consumerKey }),
    },
  };
}

function chunksOf(way: TextWay, parsed: TriggerConfig, text: string): Ready<SplitAnswer> {
  const { execution } = parsed.config;
  const { format } = responseSettings(parsed).response_adapter;
  const transform = execution.callback?.response_transform ?? derivedTransform(format);
  return whenReady(transformed(way, text, transform), (whole) => {
    const answer = splitAnswer(whole, execution.split_config);
    const isForSlack = execution.callback === undefined && requestsOf(parsed)?.channel?.type === 'slack';
    if (!isForSlack || answer.chunks.every(fitsSlack)) return answer;
    // Only chunks of more than 8,000 characters, most of them signs, are too long in Slack's form of text.
    return splitAnswer(whole, {
      ...execution.split_config,
      max_chunk_size: slackCharsSurelyTaken,
      text_max: slackCharsSurelyTaken,
    });
  });
}

/** The content that reports a turn without an answer to the callback. */
export function failureContent(
  error: TurnFailure,
  { context, consumerKey }: Pick<MessagePayload, 'context' | 'consumerKey'>,
): DeliveryContent {
  return {
    chunks: [''],
    context,
    error,
    manual: false,
    ...(consumerKey === undefined ? {} : { consumerKey }),
  };
}
