import { z } from 'zod';
import { type Ready, whenReady } from '../../kernel/ready.js';
import { derivedTransform, type TextWay, transformed } from './replies/transform.js';
import { splitAnswer } from './replies/split.js';
import type { TriggerConfig } from '../triggers/config/trigger-config.js';
import type { WebhookConfig } from '../triggers/config/webhook-config.js';
import { mailPlace, type MessagePayload } from '../messages/message-payload.js';

/** The sealed content of a delivery. Destination and credential are read from the trigger when it is sent. */
export const deliveryContent = z.object({
  chunks: z.array(z.string()).min(1),
  context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  reply: z.object({ to: z.string(), from: z.string() }).optional(),
  mail: mailPlace.optional(),
  consumerKey: z.string().optional(),
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
  switch (parsed.type) {
    case 'webhook': {
      const { channel, execution } = parsed.config;
      return execution.callback !== undefined || (channel?.auth !== undefined && reply !== undefined);
    }
    case 'email':
      return parsed.config.reply && reply !== undefined && mail !== undefined;
    case 'schedule':
    case 'db_event':
      return false;
  }
}

/** Whether answers are sent as our own requests instead of in the response to the sender. */
export function repliesOutOfBand({ execution, channel }: WebhookConfig): boolean {
  return execution.mode === 'async' || channel?.type === 'whatsapp_cloud';
}

export interface PreparedAnswer {
  readonly content: DeliveryContent;
  readonly truncated: boolean;
}

/** Prepares the answer for sending: transformed, then split. Mails are neither. */
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
  const { chunks, truncated } = await chunksOf(way, parsed, text);
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

function chunksOf(way: TextWay, parsed: TriggerConfig, text: string): Ready<ReturnType<typeof splitAnswer>> {
  if (parsed.type !== 'webhook') return { chunks: [text], truncated: false };
  const { execution, response_adapter: adapter } = parsed.config;
  const transform = execution.callback?.response_transform ?? derivedTransform(adapter.format);
  return whenReady(transformed(way, text, transform), (whole) => splitAnswer(whole, execution.split_config));
}
