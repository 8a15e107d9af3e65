import { chatAdapter } from '../chat-dialect/adapter.js';
import { readReasoningText } from '../chat-dialect/read-reasoning.js';
import { chatUsage } from '../chat-dialect/usage.js';
import type { VendorAdapter } from '../vendor.js';

/** A server that speaks the chat dialect (Ollama, vLLM and the like), under the name that the operator gave it. */
export function compatibleAdapter(vendor: string): VendorAdapter {
  return chatAdapter({
    vendor,
    maxTokensField: 'max_tokens',
    asksForUsage: true,
    sendsReasoningEffort: false,
    billsCutStreams: false,
    takesTopK: true,
    embeds: true,
    toUsage: chatUsage,
    extraReader: () => readReasoningText,
  });
}
