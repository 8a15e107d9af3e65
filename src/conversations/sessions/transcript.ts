import { contextBlock } from '../invocation/index.js';
import type { Message, UserPart } from '../../llm/index.js';
import { userMessage } from '../turns/index.js';
import type { MessageRow } from './rows.js';

/**
 * The conversation in the form that models take. What callers declared and attached accompanies each message as it did
 * in its turn; `contents` holds the attachments by id.
 */
export function transcript(
  messages: readonly Pick<MessageRow, 'role' | 'content' | 'declared_context' | 'attachments'>[],
  contents: ReadonlyMap<string, UserPart> = new Map(),
): readonly Message[] {
  return messages.map(({ role, content, declared_context: declared, attachments }): Message =>
    role === 'assistant'
      ? { role, content: [{ type: 'text', text: content }] }
      : userMessage(content, contextBlock(declared ?? {}), shownParts(attachments, contents)),
  );
}

/** One that is not at hand any more is named, so that the model knows what the conversation is about. */
export function shownParts(
  attachments: MessageRow['attachments'],
  contents: ReadonlyMap<string, UserPart>,
): readonly UserPart[] {
  return attachments.map(
    ({ id, type, name, media_type }) =>
      contents.get(id) ?? { type: 'text', text: `[${type} ${name ?? media_type}, not shown again]` },
  );
}
