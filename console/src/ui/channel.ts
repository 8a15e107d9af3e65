const names: Readonly<Record<string, string>> = {
  chat: 'Chat',
  webhook: 'Webhook',
  email: 'Mail',
  twilio: 'Twilio',
  whatsapp_cloud: 'WhatsApp',
  slack: 'Slack',
};

/** The channels of conversations. */
export const channels: readonly string[] = Object.keys(names);

/** A channel as people call it; one of a later release keeps its own name. */
export const channelName = (channel: string): string => names[channel] ?? channel.replaceAll('_', ' ');
