import { chatAdapter } from '../chat-dialect/adapter.js';
import { chatUsage } from '../chat-dialect/usage.js';

export const openaiAdapter = chatAdapter({
  vendor: 'openai',
  maxTokensField: 'max_completion_tokens',
  asksForUsage: true,
  sendsReasoningEffort: true,
  billsCutStreams: false,
  embeds: true,
  toUsage: chatUsage,
});
