import { placeOfUrl } from '../../../tenancy/vault/index.js';
import { checkMapping, webhookConfig } from '../config/webhook-config.js';
import { mappedContext } from '../mapped-context.js';
import { destination, triggerType } from './trigger-type.js';

export const webhook = triggerType({
  title: 'Webhook',
  description: 'An HTTP request, or a message of a chat channel.',
  config: webhookConfig,
  isPolled: () => false,
  requests: (config) => config,
  destinations({ channel }, channels) {
    if (channel?.auth === undefined) return [];
    const place = placeOfUrl(new URL(channels[channel.type]));
    return [destination(channel.auth, 'trigger_config.channel.auth', place)];
  },
  checkSettings: checkMapping,
  contextOf: ({ context_mapping: mapping }, payload) => mappedContext(mapping, payload),
});
