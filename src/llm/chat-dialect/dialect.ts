import type { ReplyItem } from '../contract.js';
import type { Usage } from '../usage.js';

/**
 * The wire form that OpenAI's chat completions made common. Vendors that speak it differ in a few places; this is the
 * list of them.
 */
export interface ChatDialect {
  readonly vendor: string;
  /** `max_completion_tokens` where the vendor has moved on; most others know `max_tokens` only. */
  readonly maxTokensField: 'max_completion_tokens' | 'max_tokens';
  /** Whether usage in a stream must be asked for by `stream_options`. Some refuse that field, some ignore it. */
  readonly asksForUsage: boolean;
  readonly sendsReasoningEffort: boolean;
  readonly billsCutStreams: boolean;
  readonly extraHeaders?: Readonly<Record<string, string>>;
  toUsage(raw: unknown): Usage;
  /** Reads what a vendor adds to a delta or a message, thoughts for example. */
  readExtra?(delta: Readonly<Record<string, unknown>>, out: ReplyItem[]): void;
  /** Adds to an assistant message what `readExtra` must get back. */
  extraForAssistant?(signatures: readonly string[]): Readonly<Record<string, unknown>>;
}
