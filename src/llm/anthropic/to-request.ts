import type {
  CacheControlEphemeral,
  ContentBlockParam,
  DocumentBlockParam,
  ImageBlockParam,
  MessageCreateParams,
  MessageParam,
  TextBlockParam,
  ToolUnion,
} from '@anthropic-ai/sdk/resources/messages';
import {
  type AssistantPart,
  type CacheMark,
  documentType,
  type FilePart,
  type ImagePart,
  type LlmRequest,
  type Message,
  type ReasoningEffort,
  type SystemMessage,
  type ToolMessage,
  type UserPart,
} from '../contract.js';
import { argumentsObject } from '../reply-json.js';
import { sentStops } from '../sent-stops.js';
import { addedForThoughts, sentBound, sentEffort } from '../thinking-budget.js';
import type { VendorModel, VendorRequest } from '../vendor.js';
import { passedMessagesBody } from './pass-through.js';

/** This vendor requires a bound. The default is ample for an answer and far below the largest output. */
const defaultMaxTokens = 8192;

export function toAnthropicRequest(request: LlmRequest, model: VendorModel): VendorRequest {
  return { path: '/v1/messages', body: JSON.stringify(anthropicBody(request, model)), ...headersOf(request) };
}

/** The headers that a caller of the same format gave, such as those of beta features. */
export function headersOf({ wire }: LlmRequest): Pick<VendorRequest, 'headers'> {
  return wire?.dialect === 'messages' ? { headers: wire.headers } : {};
}

/** The body, for clouds that serve it at other paths. */
export function anthropicBody(request: LlmRequest, model: VendorModel): Readonly<Record<string, unknown>> {
  const { wire } = request;
  if (wire?.dialect === 'messages') return passedMessagesBody(wire, request, model);
  const system = systemOf(request);
  const thinking = thinkingOf(request, model);
  const stops = sentStops('anthropic', request);
  return {
    model: model.name,
    max_tokens: sentBound('anthropic', request, model, request.maxTokens ?? defaultMaxTokens),
    messages: messages(request.messages),
    ...(system.length > 0 && { system }),
    ...(!thinking.isOn && sampling(request, model)),
    ...thinking.fields,
    ...outputConfig(request, thinking.effort),
    ...tools(request, model),
    ...(stops.length > 0 && { stop_sequences: [...stops] }),
    ...(request.stream && { stream: true as const }),
  } satisfies MessageCreateParams;
}

/** One text, or blocks where one of them is marked. */
function systemOf(request: LlmRequest): string | TextBlockParam[] {
  const parts = request.messages.filter((message) => message.role === 'system');
  const order = 'Answer with one JSON object and nothing else.';
  const texts: readonly Omit<SystemMessage, 'role'>[] =
    request.responseFormat?.type === 'json' ? [...parts, { content: order }] : parts;
  if (texts.every(({ cache }) => cache === undefined)) {
    return texts.map(({ content }) => content).join('\n\n');
  }
  return texts.flatMap(({ content, cache }) => textBlock(content, cache));
}

/** Five minutes are the vendor's default. */
function marked(mark: CacheMark | undefined): { cache_control?: CacheControlEphemeral } {
  if (mark === undefined) return {};
  return { cache_control: { type: 'ephemeral', ...(mark.ttl === '1h' && { ttl: '1h' }) } };
}

/** Temperatures end at 1, and only one of the two sampling parameters may be set. */
function sampling(
  request: LlmRequest,
  model: VendorModel,
): { temperature?: number; top_p?: number; top_k?: number } {
  if (!model.capabilities.has('temperature')) return {};
  const topK = request.topK === undefined ? {} : { top_k: request.topK };
  if (request.temperature !== undefined) return { temperature: Math.min(1, request.temperature), ...topK };
  return { ...(request.topP !== undefined && { top_p: request.topP }), ...topK };
}

interface Thinking {
  readonly fields: Pick<MessageCreateParams, 'thinking'>;
  /** The model refuses sampling parameters then. */
  readonly isOn: boolean;
  readonly effort: Exclude<ReasoningEffort, 'none'> | undefined;
}

function thinkingOf(request: LlmRequest, model: VendorModel): Thinking {
  const effort = sentEffort(request, model);
  if (effort === undefined) return { fields: {}, isOn: false, effort };
  const adaptive = model.capabilities.has('adaptive_thinking');
  if (effort === 'none') {
    const off = adaptive && !model.capabilities.has('always_thinks');
    return { fields: off ? { thinking: { type: 'disabled' } } : {}, isOn: false, effort: undefined };
  }
  if (adaptive) return { fields: { thinking: { type: 'adaptive' } }, isOn: true, effort };
  const budget = addedForThoughts('anthropic', request, model);
  return {
    fields: { thinking: { type: 'enabled', budget_tokens: budget } },
    isOn: true,
    effort: undefined,
  };
}

function outputConfig(
  request: LlmRequest,
  effort: Thinking['effort'],
): Pick<MessageCreateParams, 'output_config'> {
  const format = request.responseFormat;
  const schema = format?.type === 'json_schema' ? { ...format.schema } : undefined;
  if (effort === undefined && schema === undefined) return {};
  return {
    output_config: {
      ...(effort !== undefined && { effort }),
      ...(schema !== undefined && { format: { type: 'json_schema', schema } }),
    },
  };
}

function tools(request: LlmRequest, model: VendorModel): Pick<MessageCreateParams, 'tools' | 'tool_choice'> {
  if (request.tools === undefined || request.tools.length === 0) return {};
  const declared = request.tools.map((tool): ToolUnion => ({
    name: tool.name,
    ...(tool.description !== undefined && { description: tool.description }),
    input_schema: { ...tool.parameters, type: 'object' },
    ...(tool.strict === true && { strict: true }),
    ...marked(tool.cache),
  }));
  const choice = toolChoice(request, model);
  return { tools: declared, ...(choice !== undefined && { tool_choice: choice }) };
}

function toolChoice(request: LlmRequest, model: VendorModel): MessageCreateParams['tool_choice'] {
  const single = request.parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  const choice = request.toolChoice;
  if (choice === 'none') return { type: 'none' };
  // Models that always think refuse to be forced to a tool.
  const forced = model.capabilities.has('forced_tools');
  if (choice === 'required' && forced) return { type: 'any', ...single };
  if (typeof choice === 'object' && forced) return { type: 'tool', name: choice.name, ...single };
  return choice === undefined && request.parallelToolCalls !== false
    ? undefined
    : { type: 'auto', ...single };
}

/** Roles alternate here: tool results belong to the user, and neighbours of one role become one message. */
function messages(all: readonly Message[]): MessageParam[] {
  const result: { role: 'user' | 'assistant'; content: ContentBlockParam[] }[] = [];
  for (const message of all) {
    if (message.role === 'system') continue;
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const blocks = blocksOf(message);
    if (blocks.length === 0) continue;
    const last = result.at(-1);
    if (last?.role !== role) result.push({ role, content: blocks });
    else for (const block of blocks) last.content.push(block);
  }
  return result;
}

function blocksOf(message: Exclude<Message, { role: 'system' }>): ContentBlockParam[] {
  switch (message.role) {
    case 'user':
      return message.content.flatMap(userBlock);
    case 'assistant':
      return message.content.flatMap(assistantBlock);
    case 'tool':
      return [toolResult(message)];
  }
}

/** Empty text blocks are refused. */
function textBlock(text: string, mark?: CacheMark): TextBlockParam[] {
  return text === '' ? [] : [{ type: 'text', text, ...marked(mark) }];
}

function userBlock(part: UserPart): ContentBlockParam[] {
  if (part.type === 'image') return [imageBlock(part)];
  return part.type === 'file'
    ? [documentBlock(part)]
    : textBlock(part.text, part.type === 'text' ? part.cache : undefined);
}

function documentBlock({ source, name, cache }: FilePart): DocumentBlockParam {
  return {
    type: 'document',
    source:
      source.kind === 'url'
        ? { type: 'url', url: source.url }
        : { type: 'base64', media_type: documentType, data: source.data },
    ...(name !== undefined && { title: name }),
    ...marked(cache),
  };
}

function imageBlock({ source, cache }: ImagePart): ImageBlockParam {
  if (source.kind === 'url') {
    return { type: 'image', source: { type: 'url', url: source.url }, ...marked(cache) };
  }
  return {
    type: 'image',
    ...marked(cache),
    source: { type: 'base64', media_type: imageType(source.mediaType), data: source.data },
  };
}

const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;

/** An unknown type is sent as PNG: the vendor looks at the bytes, and its refusal names the reason. */
function imageType(mediaType: string): (typeof imageTypes)[number] {
  return imageTypes.find((known) => known === mediaType) ?? 'image/png';
}

function assistantBlock(part: AssistantPart): ContentBlockParam[] {
  switch (part.type) {
    case 'text':
      return textBlock(part.text, part.cache);
    case 'thinking':
      // Without its signature a thought cannot be given back.
      return part.signature === undefined
        ? []
        : [{ type: 'thinking', thinking: part.text, signature: part.signature }];
    case 'redacted_thinking':
      return [{ type: 'redacted_thinking', data: part.data }];
    case 'tool_call':
      return [
        {
          type: 'tool_use',
          id: part.id,
          name: part.name,
          input: argumentsObject(part.arguments),
          ...marked(part.cache),
        },
      ];
  }
}

function toolResult(message: ToolMessage): ContentBlockParam {
  const content = message.content.flatMap((part): (TextBlockParam | ImageBlockParam)[] =>
    part.type === 'image' ? [imageBlock(part)] : textBlock(part.text),
  );
  return {
    type: 'tool_result',
    tool_use_id: message.callId,
    ...(content.length > 0 && { content }),
    ...(message.isError === true && { is_error: true }),
    ...marked(message.cache),
  };
}
