import type { ReplyItem } from '../contract.js';
import type { Usage } from '../usage.js';

export type ExtraReader = (delta: Readonly<Record<string, unknown>>, out: ReplyItem[]) => void;

/**
 * The wire format of OpenAI's chat completions. Vendors that use it differ in a few places; this type lists
 * them.
 */
export interface ChatDialect {
  readonly vendor: string;
  /** Default: `/models`. */
  readonly modelsPath?: string;
  /** `max_completion_tokens` for vendors that accept it; most accept only `max_tokens`. */
  readonly maxTokensField: 'max_completion_tokens' | 'max_tokens';
  /** Whether usage in a stream must be asked for by `stream_options`. Some refuse that field, some ignore it. */
  readonly asksForUsage: boolean;
  readonly sendsReasoningEffort: boolean;
  readonly billsCutStreams: boolean;
  readonly takesTopK?: boolean;
  /** How many stop sequences the vendor takes; absent: any number. */
  readonly stopsMax?: number;
  /** Whether parts and tools may carry Anthropic's `cache_control`. */
  readonly takesCacheMarks?: boolean;
  /** Whether the vendor has `/embeddings`. */
  readonly embeds?: boolean;
  readonly extraHeaders?: Readonly<Record<string, string>>;
  toUsage(raw: unknown): Usage;
  /** For one reply: reads a vendor's additions to its deltas or its message, such as thoughts. */
  extraReader?(): ExtraReader;
  /** Adds the fields that the reader read to an assistant message. */
  extraForAssistant?(signatures: readonly string[]): Readonly<Record<string, unknown>>;
}
