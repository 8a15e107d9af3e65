import { CalendarClock, Database, Mail, MessageCircle, MessageSquare, Phone, Webhook } from 'lucide-react';
import type { LucideIcon } from 'lucide-react';
import type { TriggerType } from '../routes';
import type { Config } from '../types';

/** What a person chooses from: the types of triggers, and the channels of webhooks. */
export interface Kind {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly icon: LucideIcon;
  readonly type: TriggerType;
  readonly config: Config;
  /** What the secret of the channel has to contain. */
  readonly secret?: string;
}

export const kinds: readonly Kind[] = [
  {
    id: 'webhook',
    title: 'Webhook',
    text: 'Your program sends a request and gets the answer, at once or by callback.',
    icon: Webhook,
    type: 'webhook',
    config: {},
  },
  {
    id: 'slack',
    title: 'Slack',
    text: 'Mentions and direct messages of a Slack app, answered in their thread.',
    icon: MessageSquare,
    type: 'webhook',
    config: { channel: { type: 'slack', auth: {} }, execution: { mode: 'async' } },
    secret: '{"signing_secret": "…", "bot_token": "xoxb-…"}',
  },
  {
    id: 'whatsapp',
    title: 'WhatsApp Cloud API',
    text: 'Messages to a WhatsApp number of your Meta app.',
    icon: MessageCircle,
    type: 'webhook',
    config: { channel: { type: 'whatsapp_cloud', auth: {} }, execution: { mode: 'async' } },
    secret: '{"access_token": "EAA…", "app_secret": "…"}',
  },
  {
    id: 'twilio',
    title: 'Twilio',
    text: 'SMS and WhatsApp messages that Twilio receives.',
    icon: Phone,
    type: 'webhook',
    config: { channel: { type: 'twilio', auth: {} } },
    secret: '<account sid>:<auth token>',
  },
  {
    id: 'email',
    title: 'Mail',
    text: 'Mail to an address of the trigger, or in a mailbox of yours.',
    icon: Mail,
    type: 'email',
    config: {},
  },
  {
    id: 'schedule',
    title: 'Schedule',
    text: 'A message to the agent at the times of a cron expression.',
    icon: CalendarClock,
    type: 'schedule',
    config: { cron: '0 9 * * MON-FRI', timezone: Intl.DateTimeFormat().resolvedOptions().timeZone },
  },
  {
    id: 'database',
    title: 'Database event',
    text: 'New or changed rows of a PostgreSQL table.',
    icon: Database,
    type: 'db_event',
    config: {},
  },
];
