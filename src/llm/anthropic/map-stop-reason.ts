import type { StopReason as AnthropicStopReason } from '@anthropic-ai/sdk/resources/messages';
import type { StopReason } from '../contract.js';

const reasons = {
  end_turn: 'stop',
  max_tokens: 'length',
  stop_sequence: 'stop_sequence',
  tool_use: 'tool_calls',
  pause_turn: 'pause',
  refusal: 'refusal',
  model_context_window_exceeded: 'context_overflow',
} as const satisfies Record<AnthropicStopReason, StopReason>;

export function anthropicStopReason(raw: string): StopReason {
  const known: Readonly<Record<string, StopReason>> = reasons;
  return Object.hasOwn(known, raw) ? (known[raw] ?? 'other') : 'other';
}
