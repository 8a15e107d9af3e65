/** Translates a request of OpenAI's chat completions into the platform's own request. */
import { z } from 'zod';
import { invalidField } from '../../../kernel/errors.js';
import { JsonSize, named } from '../../../http/operations/index.js';
import {
  boundedSchema,
  checkedImage,
  type CompatRequest,
  fileFromData,
  parseCompatBody,
} from '../compat-request.js';
import { cacheMark, cacheOf } from '../cache-mark.js';
import { wireOf } from '../survey.js';
import { surveyChat } from './survey.js';
import type {
  AssistantPart,
  CacheMark,
  LlmRequest,
  Message,
  ReasoningEffort,
  UserPart,
} from '../../../llm/index.js';

const textPart = z.object({ type: z.literal('text'), text: z.string(), cache_control: cacheMark });
const refusalPart = z
  .object({ type: z.literal('refusal'), refusal: z.string() })
  .transform(({ refusal }) => ({ type: 'text' as const, text: refusal, cache_control: undefined }));
const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: z.string().min(1) }),
  cache_control: cacheMark,
});
const filePart = z.object({
  type: z.literal('file'),
  file: z.object({
    file_data: z
      .string({ error: 'is required: files that were uploaded to a vendor (file_id) are not known here' })
      .min(1),
    filename: z.string().max(255).nullish(),
  }),
  cache_control: cacheMark,
});
const textContent = z.union([z.string(), z.array(textPart)]);

const toolCall = z.object({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
});

const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal(['system', 'developer']), content: textContent, cache_control: cacheMark }),
  z.object({
    role: z.literal('user'),
    cache_control: cacheMark,
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [textPart, imagePart, filePart]))]),
  }),
  z.object({
    role: z.literal('assistant'),
    cache_control: cacheMark,
    content: z.union([z.string(), z.array(z.union([textPart, refusalPart]))]).nullish(),
    refusal: z.string().nullish(),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.object({
    role: z.literal('tool'),
    tool_call_id: z.string().min(1),
    content: textContent,
    cache_control: cacheMark,
  }),
]);

const tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, underscores or hyphens'),
    description: z.string().nullish(),
    parameters: boundedSchema.nullish(),
    strict: z.boolean().nullish(),
  }),
  cache_control: cacheMark,
});

export const chatRequest = named(
  'ChatCompletionRequest',
  z.object({
    model: z.string().min(1).max(200),
    messages: z.array(message).min(1),
    temperature: z.number().min(0).max(2).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    max_tokens: z.int().min(1).nullish(),
    max_completion_tokens: z.int().min(1).nullish(),
    n: z.literal(1, 'must be 1: a request gets one answer').nullish(),
    seed: z.int().nullish(),
    stop: z.union([z.string(), z.array(z.string()).max(16)]).nullish(),
    stream: z.boolean().nullish(),
    stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
    tools: z.array(tool).max(512).nullish(),
    tool_choice: z
      .union([
        z.enum(['none', 'auto', 'required']),
        z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
      ])
      .nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    response_format: z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('text') }),
        z.object({ type: z.literal('json_object') }),
        z.object({
          type: z.literal('json_schema'),
          json_schema: z.object({
            name: z.string(),
            schema: boundedSchema.optional(),
            strict: z.boolean().nullish(),
            description: z.string().nullish(),
          }),
        }),
      ])
      .nullish(),
    reasoning_effort: z.string().max(40).nullish(),
    top_k: z.int().min(1).nullish(),
    presence_penalty: z.number().min(-2).max(2).nullish(),
    frequency_penalty: z.number().min(-2).max(2).nullish(),
  }),
);

type ChatRequest = z.output<typeof chatRequest>;

export interface ChatCompletionRequest extends CompatRequest {
  /** The caller asked for a usage chunk at the end of the stream. */
  readonly wantsUsage: boolean;
}

export function fromChatRequest(body: unknown): ChatCompletionRequest {
  const { known, survey } = surveyChat(body);
  const given = parseCompatBody(chatRequest, known);
  const maxTokens = given.max_completion_tokens ?? given.max_tokens;
  const request: LlmRequest = {
    messages: messages(given),
    ...tools(given),
    ...(given.temperature != null && { temperature: given.temperature }),
    ...(given.top_p != null && { topP: given.top_p }),
    ...(maxTokens != null && { maxTokens }),
    ...(given.seed != null && { seed: given.seed }),
    ...(given.stop != null && { stop: typeof given.stop === 'string' ? [given.stop] : given.stop }),
    ...responseFormat(given),
    ...(given.reasoning_effort != null && { reasoningEffort: effortOf(given.reasoning_effort) }),
    ...(given.top_k != null && { topK: given.top_k }),
    ...(given.presence_penalty != null && { presencePenalty: given.presence_penalty }),
    ...(given.frequency_penalty != null && { frequencyPenalty: given.frequency_penalty }),
    wire: wireOf('chat', body, survey),
    stream: given.stream === true,
  };
  return { model: given.model, request, wantsUsage: given.stream_options?.include_usage === true };
}

/** Efforts above `high`, also later ones, count as `high` where they are translated. */
function effortOf(given: string): ReasoningEffort {
  if (given === 'minimal') return 'low';
  return given === 'none' || given === 'low' || given === 'medium' ? given : 'high';
}

function messages(given: ChatRequest): Message[] {
  const toolNames = new Map<string, string>();
  // Some vendors need arguments as objects, so each of these texts is parsed. The size check of the body does not look
  // inside texts.
  const written = new JsonSize();
  return given.messages.map((each, index): Message => {
    switch (each.role) {
      case 'system':
      case 'developer':
        return { role: 'system', content: plainText(each.content), ...lastMark(each) };
      case 'user':
        return { role: 'user', content: userParts(each, `messages.${index}.content`) };
      case 'assistant': {
        const content: AssistantPart[] = [];
        const said = plainText(each.content ?? '') + (each.refusal ?? '');
        if (said !== '') content.push({ type: 'text', text: said, ...lastMark(each) });
        for (const call of each.tool_calls ?? []) {
          toolNames.set(call.id, call.function.name);
          if (written.addText(call.function.arguments) !== undefined) {
            throw invalidField(
              `messages.${index}.tool_calls`,
              'has arguments that are nested too deeply or too long',
            );
          }
          content.push({
            type: 'tool_call',
            id: call.id,
            name: call.function.name,
            arguments: call.function.arguments,
          });
        }
        return { role: 'assistant', content };
      }
      case 'tool': {
        const name = toolNames.get(each.tool_call_id);
        if (name === undefined) {
          throw invalidField(`messages.${index}.tool_call_id`, 'does not match an earlier tool call');
        }
        const text = plainText(each.content);
        return {
          role: 'tool',
          callId: each.tool_call_id,
          name,
          content: [{ type: 'text', text }],
          ...lastMark(each),
        };
      }
    }
  });
}

function plainText(content: string | readonly { readonly text: string }[]): string {
  return typeof content === 'string' ? content : content.map((part) => part.text).join('');
}

/** Texts become one, with the last mark among them: it covers what precedes it. */
function lastMark(message: {
  readonly content?:
    | string
    | readonly { readonly cache_control?: CacheMark | undefined }[]
    | null
    | undefined;
  readonly cache_control?: CacheMark | undefined;
}): { cache?: CacheMark } {
  const parts = typeof message.content === 'object' ? (message.content ?? []) : [];
  return cacheOf(message.cache_control ?? parts.findLast((part) => part.cache_control)?.cache_control);
}

function userParts(
  message: Extract<ChatRequest['messages'][number], { role: 'user' }>,
  field: string,
): UserPart[] {
  const { content, cache_control: whole } = message;
  if (typeof content === 'string') return [{ type: 'text', text: content, ...cacheOf(whole) }];
  return content.map((part, at): UserPart => {
    const mark = cacheOf(part.cache_control ?? (at === content.length - 1 ? whole : undefined));
    const place = `${field}.${at}`;
    switch (part.type) {
      case 'text':
        return { type: 'text', text: part.text, ...mark };
      case 'image_url':
        return { ...checkedImage(part.image_url.url, `${place}.image_url.url`), field: place, ...mark };
      case 'file':
        return { ...fileFromData(part.file.file_data, part.file.filename ?? undefined, place), ...mark };
    }
  });
}

function tools(given: ChatRequest): Pick<LlmRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  if (given.tools == null || given.tools.length === 0) return {};
  const choice = given.tool_choice;
  return {
    tools: given.tools.map(({ function: { name, description, parameters, strict }, cache_control }) => ({
      name,
      ...(description != null && { description }),
      parameters: parameters ?? { type: 'object', properties: {} },
      ...(strict != null && { strict }),
      ...cacheOf(cache_control),
    })),
    ...(choice != null && {
      toolChoice: typeof choice === 'string' ? choice : { name: choice.function.name },
    }),
    ...(given.parallel_tool_calls != null && { parallelToolCalls: given.parallel_tool_calls }),
  };
}

function responseFormat(given: ChatRequest): Pick<LlmRequest, 'responseFormat'> {
  const format = given.response_format;
  if (format == null || format.type === 'text') return {};
  if (format.type === 'json_object') return { responseFormat: { type: 'json' } };
  const { name, schema, strict, description } = format.json_schema;
  return {
    responseFormat: {
      type: 'json_schema',
      name,
      schema: schema ?? { type: 'object' },
      ...(strict != null && { strict }),
      ...(description != null && { description }),
    },
  };
}
