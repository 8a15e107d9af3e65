import type { VendorAdapter } from '../../vendor.js';
import { ConverseStreamReader } from './from-event.js';
import { fromConverseReply } from './from-reply.js';
import { mapBedrockError } from './map-error.js';
import { toConverseRequest } from './to-request.js';

/** Amazon Bedrock by its Converse interface. A key of the service is a bearer token; other keys sign. */
export function bedrockAdapter(vendor: string): VendorAdapter {
  return {
    vendor,
    billsCutStreams: true,
    modelsPath: '/foundation-models',
    modelsBase: (baseUrl) => baseUrl.replace('://bedrock-runtime.', '://bedrock.'),
    toRequest: (request, model) => toConverseRequest(vendor, request, model),
    authorization: (secret) => (secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
    reader: () => new ConverseStreamReader(vendor),
    fromReply: (body, out) => fromConverseReply(vendor, body, out),
    mapError: (reply) => mapBedrockError(vendor, reply),
  };
}
