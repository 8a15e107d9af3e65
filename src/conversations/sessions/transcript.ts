import { consumersOf, contextBlock } from '../invocation/index.js';
import type { Message, UserPart } from '../../llm/index.js';
import { userMessage } from '../turns/index.js';
import type { MessageRow } from './rows.js';

/**
 * The conversation in the form that models take. What callers declared and attached accompanies each message as it did
 * in its turn; `contents` holds the attachments by id. With `namesAuthors`, people are told apart by their keys, in the
 * block of declared data: in the text anybody could write them.
 */
export function transcript(
  messages: readonly Pick<MessageRow, 'role' | 'author' | 'content' | 'declared_context' | 'attachments'>[],
  contents: ReadonlyMap<string, UserPart> = new Map(),
  namesAuthors = false,
): readonly Message[] {
  return messages.map(({ role, author, content, declared_context: declared, attachments }): Message =>
    role === 'assistant'
      ? { role, content: [{ type: 'text', text: content }] }
      : userMessage(
          content,
          contextBlock({ ...declared, ...(namesAuthors ? named(author) : {}) }),
          shownParts(attachments, contents),
        ),
  );
}

function named(author: MessageRow['author']): { readonly message_author?: string } {
  const people = consumersOf(author);
  return people.length === 0 ? {} : { message_author: people.join(', ') };
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
