import { normalPhone } from '../../conversations/invocation/index.js';
import type { ChannelType } from '../triggers/config/webhook-config.js';
import { textOfSlack } from '../messages/slack-text.js';
import { cutText } from '../triggers/mapped-context.js';
import { textOf } from '../../infra/expressions/index.js';
import { valueAt } from '../triggers/templates.js';

/** One message of a channel, in a form that all channels share. */
export interface ChannelMessage {
  /** The channel's own id, unique within the channel. */
  readonly id: string;
  /** `+<digits>`, or the channel's own id of the person. */
  readonly sender: string;
  readonly displayName: string | undefined;
  readonly text: string;
  /** The address that answers are sent from: our number or its id at the channel; for Slack the thread. */
  readonly ownAddress: string;
  /** The sender's address as the channel writes it; answers go there. */
  readonly replyTo: string;
  /** The conversation that several people may write in, from which the session is derived; undefined if it is the sender's. */
  readonly conversation?: string | undefined;
  /** Extra field names that a configuration may use besides the payload's own. */
  readonly fields: Readonly<Record<string, string>>;
  /** The payload reduced to this one message. */
  readonly payload: unknown;
}

const idCharsMax = 200;
/** The messages in a channel's request. Other notices, such as delivery receipts, hold none. */
export function messagesOf(channel: ChannelType, payload: unknown): readonly ChannelMessage[] {
  switch (channel) {
    case 'twilio':
      return twilioMessages(payload);
    case 'whatsapp_cloud':
      return whatsappMessages(payload);
    case 'slack':
      return slackMessages(payload);
  }
}

/** What a person wrote with a file, in a thread and for the whole channel, or by `/me`; other subtypes are notices. */
const slackSubtypes: ReadonlySet<string> = new Set(['', 'file_share', 'thread_broadcast', 'me_message']);

/**
 * A message of a person. Messages of apps are left out, this trigger's own answers among them, and so are edits and
 * other notices. A message that mentions the app comes as two events; channel and time are the same in both.
 */
function slackMessages(payload: unknown): readonly ChannelMessage[] {
  const field = (name: string): string => textOf(valueAt(payload, `event.${name}`));
  const [sender, channel, at] = [field('user'), field('channel'), field('ts')];
  const isMessage = field('type') === 'message' || field('type') === 'app_mention';
  if (!isMessage || !slackSubtypes.has(field('subtype')) || field('bot_id') !== '') return [];
  if (sender === '' || channel === '' || at === '') return [];
  const thread = field('thread_ts') || at;
  return [
    {
      id: cutText(`${channel}:${at}`, idCharsMax),
      sender,
      displayName: undefined,
      // The mentions first: an entity stands for a character that a person wrote.
      text: textOfSlack(field('text').replace(/^(?:<@[A-Z0-9]{1,30}>\s*)+/, '')),
      ownAddress: thread,
      replyTo: channel,
      conversation: `${channel}:${thread}`,
      fields: { From: sender },
      payload,
    },
  ];
}

function twilioMessages(payload: unknown): readonly ChannelMessage[] {
  const field = (name: string): string => textOf(valueAt(payload, name));
  const from = field('From');
  if (from === '') return [];
  const sender = normalPhone(from);
  return [
    {
      id: cutText(field('MessageSid') || field('SmsMessageSid') || field('SmsSid'), idCharsMax),
      sender,
      displayName: field('ProfileName') || undefined,
      text: field('Body'),
      ownAddress: field('To'),
      replyTo: from,
      fields: { From: from, phoneNumber: sender, _waId: field('WaId') || sender },
      payload,
    },
  ];
}

function whatsappMessages(payload: unknown): readonly ChannelMessage[] {
  return itemsAt(payload, 'entry').flatMap((entry) =>
    itemsAt(entry, 'changes').flatMap((change) => {
      const value = valueAt(change, 'value');
      // A map by number: searching the list per message would be quadratic.
      const contactsOf = byNumber(itemsAt(value, 'contacts'));
      return itemsAt(value, 'messages').flatMap((message) => {
        const from = textOf(valueAt(message, 'from'));
        const id = textOf(valueAt(message, 'id'));
        if (from === '' || id === '') return [];
        const contacts = contactsOf.get(from) ?? [];
        const sender = normalPhone(from);
        return [
          {
            id: cutText(id, idCharsMax),
            sender,
            displayName: textOf(valueAt(contacts[0], 'profile.name')) || undefined,
            text: whatsappText(message),
            ownAddress: textOf(valueAt(value, 'metadata.phone_number_id')),
            replyTo: from,
            fields: { From: sender, phoneNumber: sender, _waId: from },
            // Built on demand, since a request may hold very many messages.
            get payload() {
              return withOne(payload, entry, change, value, contacts, message);
            },
          },
        ];
      });
    }),
  );
}

function byNumber(contacts: readonly unknown[]): ReadonlyMap<unknown, readonly unknown[]> {
  const found = new Map<unknown, unknown[]>();
  for (const contact of contacts) {
    const number = valueAt(contact, 'wa_id');
    const others = found.get(number);
    if (others === undefined) found.set(number, [contact]);
    else others.push(contact);
  }
  return found;
}

/** The text, the chosen option or the caption of a media message. */
function whatsappText(message: unknown): string {
  const places = [
    'text.body',
    'button.text',
    'interactive.button_reply.title',
    'interactive.list_reply.title',
    'image.caption',
    'video.caption',
    'document.caption',
  ];
  return places.map((place) => textOf(valueAt(message, place))).find((text) => text !== '') ?? '';
}

function withOne(
  payload: unknown,
  entry: unknown,
  change: unknown,
  value: unknown,
  contacts: readonly unknown[],
  message: unknown,
): unknown {
  const one = { ...objectOf(value), ...(contacts.length === 0 ? {} : { contacts }), messages: [message] };
  return {
    ...objectOf(payload),
    entry: [{ ...objectOf(entry), changes: [{ ...objectOf(change), value: one }] }],
  };
}

function itemsAt(holder: unknown, name: string): readonly unknown[] {
  const items = valueAt(holder, name);
  return Array.isArray(items) ? items : [];
}

function objectOf(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}
