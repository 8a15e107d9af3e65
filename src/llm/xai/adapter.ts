import { chatAdapter } from '../chat-dialect/adapter.js';
import { readReasoningText } from '../chat-dialect/read-reasoning.js';
import { xaiUsage } from './usage.js';

/** `reasoning_effort` is sent only as a caller wrote it: most of its models refuse it with 400. */
export const xaiAdapter = chatAdapter({
  vendor: 'xai',
  maxTokensField: 'max_tokens',
  asksForUsage: true,
  sendsReasoningEffort: false,
  billsCutStreams: false,
  toUsage: xaiUsage,
  extraReader: () => readReasoningText,
});
