import type { ReplyItem } from '../contract.js';
import { isRecord, text } from '../reply-json.js';

/** A text, or with Mistral's thinking models a list of texts and thoughts, whose texts stand in a list again. */
export function readContent(content: unknown, out: ReplyItem[]): void {
  if (!Array.isArray(content)) {
    const written = text(content) ?? '';
    if (written !== '') out.push({ type: 'content', text: written });
    return;
  }
  for (const part of content.filter(isRecord)) {
    const isThought = part['type'] === 'thinking';
    const written = isThought ? textsIn(part['thinking']) : text(part['text']);
    if (written === undefined) out.push({ type: 'unknown', raw: part });
    else if (written !== '') out.push({ type: isThought ? 'thinking' : 'content', text: written });
  }
}

function textsIn(thinking: unknown): string {
  const parts: readonly unknown[] = Array.isArray(thinking) ? thinking : [thinking];
  return parts.map((part) => text(isRecord(part) ? part['text'] : part) ?? '').join('');
}
