import { chatAdapter } from '../chat-dialect/adapter.js';
import { readReasoning, reasoningDetails } from './reasoning-details.js';
import { openrouterUsage } from './usage.js';

/** Usage comes in the last event, asked for or not; errors may come after a good status, comment lines keep the stream open. */
export const openrouterAdapter = chatAdapter({
  vendor: 'openrouter',
  maxTokensField: 'max_tokens',
  asksForUsage: true,
  sendsReasoningEffort: true,
  billsCutStreams: false,
  toUsage: openrouterUsage,
  readExtra: readReasoning,
  extraForAssistant: reasoningDetails,
});
