import { chatAdapter } from '../chat-dialect/adapter.js';
import { reasoningDetails, reasoningReader } from './reasoning-details.js';
import { openrouterUsage } from './usage.js';

/** The last event always holds the usage. Errors may follow a success status; comment lines keep the stream open. */
export const openrouterAdapter = chatAdapter({
  vendor: 'openrouter',
  // `/models` answers to everybody; this list needs a valid key.
  modelsPath: '/models/user',
  maxTokensField: 'max_tokens',
  asksForUsage: true,
  sendsReasoningEffort: true,
  billsCutStreams: false,
  takesTopK: true,
  takesCacheMarks: true,
  embeds: true,
  toUsage: openrouterUsage,
  extraReader: reasoningReader,
  extraForAssistant: reasoningDetails,
});
