import { chatAdapter } from '../chat-dialect/adapter.js';
import { chatUsage } from '../chat-dialect/usage.js';
import { stopsMax } from '../sent-stops.js';

export const openaiAdapter = chatAdapter({
  vendor: 'openai',
  maxTokensField: 'max_completion_tokens',
  asksForUsage: true,
  sendsReasoningEffort: true,
  stopsMax: stopsMax.openai,
  billsCutStreams: false,
  embeds: true,
  toUsage: chatUsage,
});
