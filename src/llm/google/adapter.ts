import type { VendorAdapter } from '../vendor.js';
import { geminiEmbeddings } from './embeddings.js';
import { GeminiStreamReader } from './from-chunk.js';
import { fromGeminiReply } from './from-reply.js';
import { mapGeminiError } from './map-error.js';
import { toGeminiRequest } from './to-request.js';

export const googleAdapter: VendorAdapter = {
  vendor: 'google',
  billsCutStreams: true,
  modelsPath: '/v1beta/models',
  toRequest: toGeminiRequest,
  authorization: (secret) => (secret === undefined ? {} : { 'x-goog-api-key': secret }),
  embeddings: geminiEmbeddings,
  reader: () => new GeminiStreamReader(),
  fromReply: fromGeminiReply,
  mapError: mapGeminiError,
};
