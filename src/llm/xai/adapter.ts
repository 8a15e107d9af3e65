import { chatAdapter } from '../chat-dialect/adapter.js';
import { readReasoningText } from '../chat-dialect/read-reasoning.js';
import { xaiUsage } from './usage.js';

/** `reasoning_effort` is refused with 400 by most of its models, so it is never sent. */
export const xaiAdapter = chatAdapter({
  vendor: 'xai',
  maxTokensField: 'max_tokens',
  asksForUsage: true,
  sendsReasoningEffort: false,
  billsCutStreams: false,
  toUsage: xaiUsage,
  readExtra: readReasoningText,
});
