/** Translates a request of Anthropic's Messages API into the platform's own request. */
import { z } from 'zod';
import { invalidField } from '../../../kernel/errors.js';
import { named } from '../../../http/operations/index.js';
import { cacheMark, cacheOf } from '../cache-mark.js';
import {
  boundedSchema,
  documentPart,
  parseCompatBody,
  type CompatRequest,
  requireContent,
  requireImageType,
} from '../compat-request.js';
import { wireOf } from '../survey.js';
import { surveyMessages } from './survey.js';
import {
  type AssistantPart,
  type CacheMark,
  type ImagePart,
  type LlmRequest,
  type Message,
  type ReasoningEffort,
  type TextPart,
  type UserPart,
  unpackSignature,
} from '../../../llm/index.js';

const textBlock = z.object({ type: z.literal('text'), text: z.string(), cache_control: cacheMark });
const imageBlock = z.object({
  type: z.literal('image'),
  cache_control: cacheMark,
  source: z.discriminatedUnion('type', [
    z.object({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
    z.object({ type: z.literal('url'), url: z.string().min(1) }),
  ]),
});
const documentBlock = z.object({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    z.object({
      type: z.literal('base64'),
      media_type: z.literal('application/pdf'),
      data: z.string().min(1),
    }),
    z.object({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string() }),
    z.object({ type: z.literal('url'), url: z.string().min(1) }),
  ]),
  title: z.string().max(500).nullish(),
  context: z.string().nullish(),
  cache_control: cacheMark,
});
const toolResult = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string().min(1),
  content: z.union([z.string(), z.array(z.discriminatedUnion('type', [textBlock, imageBlock]))]).optional(),
  is_error: z.boolean().nullish(),
  cache_control: cacheMark,
});

const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: z.union([z.string(), z.array(textBlock)]) }),
  z.object({
    role: z.literal('user'),
    content: z.union([
      z.string(),
      z.array(z.discriminatedUnion('type', [textBlock, imageBlock, documentBlock, toolResult])),
    ]),
  }),
  z.object({
    role: z.literal('assistant'),
    content: z.union([
      z.string(),
      z.array(
        z.discriminatedUnion('type', [
          textBlock,
          z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
          z.object({ type: z.literal('redacted_thinking'), data: z.string() }),
          z.object({
            type: z.literal('tool_use'),
            id: z.string().min(1),
            name: z.string().min(1),
            input: z.record(z.string(), z.unknown()),
            cache_control: cacheMark,
          }),
        ]),
      ),
    ]),
  }),
]);

export const messagesRequest = named(
  'AnthropicMessagesRequest',
  z.object({
    model: z.string().min(1).max(200),
    max_tokens: z.int().min(1),
    messages: z.array(message).min(1),
    system: z.union([z.string(), z.array(textBlock)]).optional(),
    temperature: z.number().min(0).max(1).optional(),
    top_p: z.number().min(0).max(1).optional(),
    stop_sequences: z.array(z.string()).max(64).optional(),
    stream: z.boolean().optional(),
    tools: z
      .array(
        z.object({
          type: z
            .literal('custom', 'must be `custom`: only tools defined by the caller are supported')
            .nullish(),
          name: z
            .string()
            .regex(/^[\w-]{1,128}$/, 'must be 1 to 128 letters, digits, underscores or hyphens'),
          description: z.string().optional(),
          input_schema: boundedSchema,
          strict: z.boolean().nullish(),
          cache_control: cacheMark,
        }),
      )
      .max(512)
      .optional(),
    tool_choice: z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('auto'), disable_parallel_tool_use: z.boolean().optional() }),
        z.object({ type: z.literal('any'), disable_parallel_tool_use: z.boolean().optional() }),
        z.object({ type: z.literal('none') }),
        z.object({
          type: z.literal('tool'),
          name: z.string(),
          disable_parallel_tool_use: z.boolean().optional(),
        }),
      ])
      .optional(),
    thinking: z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('enabled'), budget_tokens: z.int().min(1) }),
        z.object({ type: z.literal('adaptive') }),
        z.object({ type: z.literal('disabled') }),
      ])
      .optional(),
    top_k: z.int().min(1).optional(),
    output_config: z
      .object({
        effort: z.string().max(40).nullish(),
        format: z.object({ type: z.literal('json_schema'), schema: boundedSchema }).nullish(),
      })
      .optional(),
  }),
);

type MessagesRequest = z.output<typeof messagesRequest>;

export function fromMessagesRequest(body: unknown): CompatRequest {
  const { known, survey } = surveyMessages(body);
  const given = parseCompatBody(messagesRequest, known);
  const effort = effortOf(given);
  const request: LlmRequest = {
    messages: messages(given),
    maxTokens: given.max_tokens,
    ...tools(given),
    ...(given.temperature !== undefined && { temperature: given.temperature }),
    ...(given.top_p !== undefined && { topP: given.top_p }),
    ...(given.stop_sequences !== undefined && { stop: given.stop_sequences }),
    ...(effort !== undefined && { reasoningEffort: effort }),
    ...(given.thinking?.type === 'enabled' && { thinkingBudget: given.thinking.budget_tokens }),
    ...(given.top_k !== undefined && { topK: given.top_k }),
    ...(given.output_config?.format != null && {
      responseFormat: { type: 'json_schema', name: 'answer', schema: given.output_config.format.schema },
    }),
    wire: wireOf('messages', body, survey),
    stream: given.stream === true,
  };
  return { model: given.model, request };
}

function effortOf({ thinking, output_config }: MessagesRequest): ReasoningEffort | undefined {
  const asked = output_config?.effort;
  if (thinking === undefined && asked == null) return undefined;
  if (thinking?.type === 'disabled') return 'none';
  if (thinking?.type !== 'enabled') return asked === 'low' || asked === 'medium' ? asked : 'high';
  if (thinking.budget_tokens < 4096) return 'low';
  return thinking.budget_tokens < 16_384 ? 'medium' : 'high';
}

function messages(given: MessagesRequest): Message[] {
  let result: Message[] = [];
  if (given.system !== undefined) result = systemMessages(given.system);
  const toolNames = new Map<string, string>();
  for (const [index, each] of given.messages.entries()) {
    if (each.role === 'system') {
      for (const message of systemMessages(each.content)) result.push(message);
    } else if (each.role === 'assistant') {
      const content =
        typeof each.content === 'string' ? [textOf(each.content)] : assistantParts(each.content);
      for (const part of content) if (part.type === 'tool_call') toolNames.set(part.id, part.name);
      result.push({ role: 'assistant', content });
    } else for (const message of userMessages(each.content, toolNames, index)) result.push(message);
  }
  return result;
}

/** Blocks become one message up to each mark, so that the mark keeps its place. */
function systemMessages(content: NonNullable<MessagesRequest['system']>): Message[] {
  if (typeof content === 'string') return [{ role: 'system', content }];
  const result: Message[] = [];
  let texts: string[] = [];
  for (const [at, { text, cache_control: mark }] of content.entries()) {
    texts.push(text);
    if (mark === undefined && at < content.length - 1) continue;
    result.push({ role: 'system', content: texts.join('\n'), ...cacheOf(mark) });
    texts = [];
  }
  return result;
}

function textOf(text: string, mark?: CacheMark): TextPart {
  return { type: 'text', text, ...cacheOf(mark) };
}

type UserContent = Extract<MessagesRequest['messages'][number], { role: 'user' }>['content'];
type AssistantContent = Exclude<
  Extract<MessagesRequest['messages'][number], { role: 'assistant' }>['content'],
  string
>;

/** In the platform's request tool results are messages of their own, before the user's text of the same message. */
function userMessages(
  content: UserContent,
  toolNames: ReadonlyMap<string, string>,
  index: number,
): Message[] {
  if (typeof content === 'string') return [{ role: 'user', content: [textOf(content)] }];
  const results: Message[] = [];
  const rest: UserPart[] = [];
  for (const [at, block] of content.entries()) {
    if (block.type === 'text') rest.push(textOf(block.text, block.cache_control));
    else if (block.type === 'image') rest.push(image(block, `messages.${index}.content.${at}`));
    else if (block.type === 'document')
      for (const part of documentParts(block, `messages.${index}.content.${at}`)) rest.push(part);
    else {
      const name = toolNames.get(block.tool_use_id);
      if (name === undefined) {
        throw invalidField(
          `messages.${index}.content.${at}.tool_use_id`,
          'does not match an earlier tool use',
        );
      }
      const parts = typeof block.content === 'string' ? [textOf(block.content)] : (block.content ?? []);
      results.push({
        role: 'tool',
        callId: block.tool_use_id,
        name,
        content: parts.map((part, nth) =>
          part.type === 'text'
            ? textOf(part.text)
            : image(part, `messages.${index}.content.${at}.content.${nth}`),
        ),
        ...(block.is_error === true && { isError: true }),
        ...cacheOf(block.cache_control),
      });
    }
  }
  return rest.length === 0 ? results : [...results, { role: 'user', content: rest }];
}

function image({ source, cache_control: mark }: z.output<typeof imageBlock>, field: string): ImagePart {
  const more = { field, ...cacheOf(mark) };
  if (source.type === 'url') {
    if (!/^https?:/i.test(source.url))
      throw invalidField(`${field}.source.url`, 'must be an http or https address');
    return { type: 'image', source: { kind: 'url', url: source.url }, ...more };
  }
  const mediaType = requireImageType(source.media_type, `${field}.source.media_type`);
  requireContent(source.data, `${field}.source.data`);
  return { type: 'image', source: { kind: 'base64', mediaType, data: source.data }, ...more };
}

function documentParts(
  { source, title, context, cache_control: mark }: z.output<typeof documentBlock>,
  field: string,
): readonly UserPart[] {
  const name = title ?? undefined;
  const named = { ...(name === undefined ? {} : { name }), ...cacheOf(mark) };
  const about = context == null || context === '' ? [] : [textOf(context)];
  switch (source.type) {
    case 'text':
      return [...about, textOf(name === undefined ? source.data : `${name}\n${source.data}`, mark)];
    case 'url':
      return [...about, { type: 'file', source: { kind: 'url', url: source.url }, field, ...named }];
    case 'base64':
      requireContent(source.data, `${field}.source.data`);
      return [...about, { ...documentPart(source.media_type, source.data, name, field), ...cacheOf(mark) }];
  }
}

function assistantParts(content: AssistantContent): AssistantPart[] {
  return content.flatMap((block): AssistantPart[] => {
    switch (block.type) {
      case 'text':
        return [textOf(block.text, block.cache_control)];
      case 'thinking': {
        const opened = unpackSignature(block.signature);
        return opened === undefined ? [] : [{ type: 'thinking', text: block.thinking, ...opened }];
      }
      case 'redacted_thinking': {
        const opened = unpackSignature(block.data);
        if (opened === undefined) return [];
        return [{ type: 'redacted_thinking', data: opened.signature, origin: opened.origin }];
      }
      case 'tool_use': {
        const { id, name, input, cache_control: mark } = block;
        return [{ type: 'tool_call', id, name, arguments: JSON.stringify(input), ...cacheOf(mark) }];
      }
    }
  });
}

function tools(given: MessagesRequest): Pick<LlmRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  if (given.tools === undefined || given.tools.length === 0) return {};
  const choice = given.tool_choice;
  const single = choice !== undefined && choice.type !== 'none' && choice.disable_parallel_tool_use === true;
  return {
    tools: given.tools.map(({ name, description, input_schema, strict, cache_control }) => ({
      name,
      ...(description !== undefined && { description }),
      parameters: input_schema,
      ...(strict != null && { strict }),
      ...cacheOf(cache_control),
    })),
    ...(choice !== undefined && { toolChoice: choiceOf(choice) }),
    ...(single && { parallelToolCalls: false }),
  };
}

function choiceOf(
  choice: NonNullable<MessagesRequest['tool_choice']>,
): NonNullable<LlmRequest['toolChoice']> {
  if (choice.type === 'tool') return { name: choice.name };
  return choice.type === 'any' ? 'required' : choice.type;
}
