import type { ChatCompletion } from 'openai/resources/chat/completions';
import type { StopReason } from '../contract.js';

const reasons = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
} as const satisfies Record<ChatCompletion.Choice['finish_reason'], StopReason>;

const knownElsewhere: Readonly<Record<string, StopReason>> = {
  ...reasons,
  error: 'error',
  model_length: 'length',
  max_tokens: 'length',
};

/** `saw`: the contents of the answer decide where the vendor's stop reason is too coarse. */
export function chatStopReason(
  raw: string,
  saw: { readonly toolCall: boolean; readonly refusal: boolean },
): StopReason {
  // Vendors that imitate the dialect end with "stop" although they called a tool.
  if (saw.toolCall && raw === 'stop') return 'tool_calls';
  if (saw.refusal && raw === 'stop') return 'refusal';
  return Object.hasOwn(knownElsewhere, raw) ? (knownElsewhere[raw] ?? 'other') : 'other';
}
