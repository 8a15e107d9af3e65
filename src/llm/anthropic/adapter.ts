import type { VendorAdapter } from '../vendor.js';
import { AnthropicStreamReader } from './from-chunk.js';
import { fromAnthropicReply } from './from-reply.js';
import { mapAnthropicError } from './map-error.js';
import { toAnthropicRequest } from './to-request.js';

export const anthropicAdapter: VendorAdapter = {
  vendor: 'anthropic',
  billsCutStreams: false,
  modelsPath: '/v1/models',
  toRequest: toAnthropicRequest,
  authorization: (secret) => ({
    'anthropic-version': '2023-06-01',
    ...(secret !== undefined && { 'x-api-key': secret }),
  }),
  reader: () => new AnthropicStreamReader(),
  fromReply: fromAnthropicReply,
  mapError: mapAnthropicError,
};
