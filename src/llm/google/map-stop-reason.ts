import type { FinishReason } from '@google/genai';
import type { StopReason } from '../contract.js';

const reasons = {
  FINISH_REASON_UNSPECIFIED: 'other',
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  LANGUAGE: 'content_filter',
  OTHER: 'other',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  MALFORMED_FUNCTION_CALL: 'error',
  IMAGE_SAFETY: 'content_filter',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  NO_IMAGE: 'error',
  IMAGE_RECITATION: 'content_filter',
  IMAGE_OTHER: 'other',
  CONTINUATION: 'length',
} as const satisfies Record<`${FinishReason}`, StopReason>;

export function geminiStopReason(raw: string, sawToolCall: boolean): StopReason {
  // This vendor also ends answers with tool calls with STOP.
  if (sawToolCall && raw === 'STOP') return 'tool_calls';
  const known: Readonly<Record<string, StopReason>> = reasons;
  return Object.hasOwn(known, raw) ? (known[raw] ?? 'other') : 'other';
}
