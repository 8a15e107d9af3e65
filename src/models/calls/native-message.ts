/** The messages of native calls: texts, or lists of parts. */
import { z } from 'zod';
import { invalidField } from '../../kernel/errors.js';
import type { AssistantPart, Message, UserPart } from '../../llm/index.js';
import { filePartShape, imagePartShape, type PlacedPart, type ReadPart, userPartOf } from '../parts/index.js';
import { named } from '../../http/operations/index.js';

const textPart = z.object({ type: z.literal('text'), text: z.string() });
const textParts = z.union([z.string(), z.array(textPart).max(1_000)], {
  error: 'must be a text or a list of text parts',
});
const userPart = z.discriminatedUnion('type', [textPart, imagePartShape, filePartShape]);

const argumentsCharsMax = 200_000;

export const toolCallShape = named(
  'ToolCall',
  z.object({
    id: z.string().min(1).max(200),
    type: z.literal('function'),
    function: z.object({ name: z.string().min(1).max(128), arguments: z.string().max(argumentsCharsMax) }),
  }),
);
export type NativeToolCall = z.output<typeof toolCallShape>;

export const nativeMessage = named(
  'CallMessage',
  z.discriminatedUnion('role', [
    z.object({ role: z.literal('system'), content: textParts }),
    z.object({
      role: z.literal('user'),
      content: z.union([z.string(), z.array(userPart).min(1).max(1_000)]),
    }),
    z.object({
      role: z.literal('assistant'),
      content: textParts.nullish(),
      tool_calls: z.array(toolCallShape).max(128).nullish(),
    }),
    z.object({ role: z.literal('tool'), tool_call_id: z.string().min(1).max(200), content: textParts }),
  ]),
);
export type NativeMessage = z.output<typeof nativeMessage>;

/** The images and files of the messages, in order, each with its place in the body. */
export function placedParts(messages: readonly NativeMessage[]): readonly PlacedPart[] {
  return messages.flatMap((message, at) => {
    if (message.role !== 'user' || typeof message.content === 'string') return [];
    return message.content.flatMap((part, place) =>
      part.type === 'text' ? [] : [{ part, field: `messages.${at}.content.${place}` }],
    );
  });
}

/** `read` holds the content of `placedParts`, in their order. */
export function messagesOf(
  messages: readonly NativeMessage[],
  read: readonly ReadPart[],
): readonly Message[] {
  const byField = new Map(read.map((part) => [part.field, part]));
  const toolNames = new Map<string, string>();
  return messages.map((message, at): Message => {
    switch (message.role) {
      case 'system':
        return { role: 'system', content: plainText(message.content) };
      case 'user':
        return { role: 'user', content: userParts(message.content, `messages.${at}.content`, byField) };
      case 'assistant':
        for (const { id, function: called } of message.tool_calls ?? []) toolNames.set(id, called.name);
        return { role: 'assistant', content: assistantParts(message) };
      case 'tool': {
        const name = toolNames.get(message.tool_call_id);
        if (name === undefined)
          throw invalidField(`messages.${at}.tool_call_id`, 'does not match an earlier tool call');
        const content = [{ type: 'text' as const, text: plainText(message.content) }];
        return { role: 'tool', callId: message.tool_call_id, name, content };
      }
    }
  });
}

function userParts(
  content: Extract<NativeMessage, { role: 'user' }>['content'],
  field: string,
  read: ReadonlyMap<string, ReadPart>,
): readonly UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part, place): UserPart => {
    if (part.type === 'text') return part;
    const found = read.get(`${field}.${place}`);
    if (found === undefined) throw new RangeError(`The content of ${field}.${place} was not read`);
    return userPartOf(found);
  });
}

function assistantParts({
  content,
  tool_calls,
}: Extract<NativeMessage, { role: 'assistant' }>): AssistantPart[] {
  const text = plainText(content ?? '');
  return [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...(tool_calls ?? []).map(({ id, function: { name, arguments: written } }) => ({
      type: 'tool_call' as const,
      id,
      name,
      arguments: written,
    })),
  ];
}

function plainText(content: z.output<typeof textParts>): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('');
}
