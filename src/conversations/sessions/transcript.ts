import { contextBlock } from '../invocation/index.js';
import type { Message } from '../../llm/index.js';
import { userMessage } from '../turns/index.js';
import type { MessageRow } from './rows.js';

/**
 * The conversation in the form that models take. What callers declared accompanies each message as it did in its
 * turn.
 */
export function transcript(messages: readonly MessageRow[]): readonly Message[] {
  return messages.map(({ role, content, declared_context: declared }): Message =>
    role === 'assistant'
      ? { role, content: [{ type: 'text', text: content }] }
      : userMessage(content, contextBlock(declared ?? {})),
  );
}
