import type { LlmRequest, Message } from '../contract.js';
import { wordCount } from './words.js';

/** The prompt's tokens, as the simulated vendor counts them. */
export function simInputWords({ messages }: LlmRequest): number {
  return messages.reduce((sum, each) => sum + wordsOf(each), 0);
}

function wordsOf(message: Message): number {
  if (message.role === 'system') return wordCount(message.content);
  let count = 0;
  for (const part of message.content) {
    if (part.type === 'text' || part.type === 'context') count += wordCount(part.text);
  }
  return count;
}
