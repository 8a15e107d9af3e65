// The client of a Troupe installation. `README.md` has examples.
export { type ChatInput, type Client, type ClientOptions, createClient } from './client.js';
export type { CallEvent } from './call-stream.js';
export type { AnswerOf, CallOptions, InputOf } from './calls.js';
export { ApiError, ConnectionError, refusalIn, refusalOf } from './errors.js';
export type { components, operations, paths } from './generated/openapi.js';
export type { Listing } from './listing.js';
export type { RealtimeEvent, RealtimeOptions } from './realtime.js';
export type { ConnectionState, ResumeOptions } from './resuming-stream.js';
export type { Frame } from './sse-reader.js';
export type { SendWebhookOptions } from './send-webhook.js';
export { newIdempotencyKey } from './surroundings.js';
export { Turn, type TurnOptions, type TurnResult } from './turn.js';
export type * from './turn-events.js';
export {
  type HeadersLike,
  type RawBody,
  sign,
  type SignOptions,
  verify,
  type VerifyOptions,
  WebhookVerificationError,
} from './webhooks.js';
