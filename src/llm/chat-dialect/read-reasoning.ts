import type { ReplyItem } from '../contract.js';
import { text } from '../reply-json.js';

/** Thoughts are outside OpenAI's form; those who send them call the field one of these two. */
export function readReasoningText(delta: Readonly<Record<string, unknown>>, out: ReplyItem[]): void {
  const thought = text(delta['reasoning_content']) ?? text(delta['reasoning']);
  if (thought !== undefined && thought !== '') out.push({ type: 'thinking', text: thought });
}
