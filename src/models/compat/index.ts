/** The interfaces that clients of OpenAI and Anthropic already speak: their requests, replies and streams. */
export { checkAddresses } from './addresses.js';
export { ignoredHeader } from './body-fields.js';
export { type CompatRequest } from './compat-request.js';
export { MessagesFrames } from './anthropic/frames.js';
export { fromMessagesRequest, messagesRequest } from './anthropic/from-request.js';
export {
  anthropicModelShape,
  messagesAnswerShape,
  messagesEventShape,
  messagesStreamExample,
} from './anthropic/shapes.js';
export { toMessagesModel, toMessagesModels } from './anthropic/models.js';
export { toMessagesReply } from './anthropic/to-reply.js';
export { type EmbeddingsRequest, fromEmbeddingsRequest, toEmbeddingsReply } from './openai/embeddings.js';
export { ChatFrames } from './openai/frames.js';
export {
  chatChunkShape,
  chatCompletionShape,
  chatStreamExample,
  embeddingsRequestShape,
  embeddingsShape,
  openAiModelShape,
} from './openai/shapes.js';
export {
  responseEventShape,
  responseShape,
  responsesRequestShape,
  responseStreamExample,
} from './responses/shapes.js';
export { type ChatCompletionRequest, chatRequest, fromChatRequest } from './openai/from-request.js';
export { toChatModel, toChatReply } from './openai/to-reply.js';
export { ResponseFrames } from './responses/frames.js';
export { callOf, fromResponsesRequest, type ResponsesRequest } from './responses/from-request.js';
export type { OutputItem, ResponseObject } from './responses/response-object.js';
