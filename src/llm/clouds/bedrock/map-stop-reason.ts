import type { StopReason } from '../../contract.js';

const reasons: Readonly<Record<string, StopReason>> = {
  end_turn: 'stop',
  max_tokens: 'length',
  stop_sequence: 'stop_sequence',
  tool_use: 'tool_calls',
  content_filtered: 'content_filter',
  guardrail_intervened: 'content_filter',
  model_context_window_exceeded: 'context_overflow',
  malformed_model_output: 'error',
  malformed_tool_use: 'error',
};

export function bedrockStopReason(raw: string): StopReason {
  return Object.hasOwn(reasons, raw) ? (reasons[raw] ?? 'other') : 'other';
}
