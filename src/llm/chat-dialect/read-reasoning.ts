import type { ReplyItem } from '../contract.js';
import { text } from '../reply-json.js';

/** OpenAI's format has no thoughts; vendors that send them use one of these two fields. */
export function readReasoningText(delta: Readonly<Record<string, unknown>>, out: ReplyItem[]): void {
  const thought = text(delta['reasoning_content']) ?? text(delta['reasoning']);
  if (thought !== undefined && thought !== '') out.push({ type: 'thinking', text: thought });
}
