import type { VendorAdapter } from '../vendor.js';
import type { ChatDialect } from './dialect.js';
import { chatEmbeddings } from './embeddings.js';
import { ChatStreamReader } from './from-chunk.js';
import { fromChatReply } from './from-reply.js';
import { mapChatError } from './map-error.js';
import { chatReplyValuesMax } from './reply-values.js';
import { toChatRequest } from './to-request.js';

export function chatAdapter(dialect: ChatDialect): VendorAdapter {
  return {
    vendor: dialect.vendor,
    billsCutStreams: dialect.billsCutStreams,
    modelsPath: dialect.modelsPath ?? '/models',
    toRequest: (request, model) => toChatRequest(request, model, dialect),
    authorization: (secret) => ({
      ...dialect.extraHeaders,
      ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
    }),
    ...(dialect.embeds === true && { embeddings: chatEmbeddings(dialect) }),
    replyValuesMax: chatReplyValuesMax,
    reader: () => new ChatStreamReader(dialect),
    fromReply: (body, out) => fromChatReply(body, dialect, out),
    mapError: (reply) => mapChatError(dialect.vendor, reply),
  };
}
