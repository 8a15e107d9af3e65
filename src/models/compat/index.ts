/** The interfaces that clients of OpenAI and Anthropic already speak: their requests, replies, streams and errors. */
export { resolveVendorModel } from './resolve-model.js';
export { type CompatRequest } from './compat-request.js';
export { MessagesFrames } from './anthropic/frames.js';
export { fromMessagesRequest } from './anthropic/from-request.js';
export { toMessagesError } from './anthropic/to-error.js';
export { toMessagesReply } from './anthropic/to-reply.js';
export { ChatFrames } from './openai/frames.js';
export { type ChatCompletionRequest, fromChatRequest } from './openai/from-request.js';
export { toChatError } from './openai/to-error.js';
export { toChatModels, toChatReply } from './openai/to-reply.js';
