import type {
  ChatCompletionContentPart,
  ChatCompletionContentPartText,
  ChatCompletionCreateParams,
  ChatCompletionMessageParam,
  ChatCompletionMessageToolCall,
  ChatCompletionStreamOptions,
  ChatCompletionTool,
} from 'openai/resources/chat/completions';
import type {
  AssistantMessage,
  CacheMark,
  FilePart,
  ImagePart,
  LlmRequest,
  Message,
  UserPart,
} from '../contract.js';
import { sentEffort } from '../thinking-budget.js';
import type { VendorModel, VendorRequest } from '../vendor.js';
import type { ChatDialect } from './dialect.js';
import { passedChatBody } from './pass-through.js';

export function toChatRequest(request: LlmRequest, model: VendorModel, dialect: ChatDialect): VendorRequest {
  const { wire } = request;
  const body =
    wire?.dialect === 'chat'
      ? passedChatBody(wire, request, model, dialect)
      : translated(request, model, dialect);
  return { path: '/chat/completions', body: JSON.stringify(body) };
}

function translated(
  request: LlmRequest,
  model: VendorModel,
  dialect: ChatDialect,
): ChatCompletionCreateParams {
  return {
    model: model.name,
    messages: request.messages.map((message) => toMessage(message, dialect)),
    ...sampling(request, model, dialect),
    ...(request.maxTokens !== undefined && { [dialect.maxTokensField]: request.maxTokens }),
    ...tools(request, dialect),
    ...responseFormat(request),
    ...(dialect.sendsReasoningEffort && reasoningEffort(request, model)),
    ...(request.stream && { stream: true as const }),
    ...(request.stream && dialect.asksForUsage && { stream_options: streamOptions(dialect) }),
  };
}

/** A model that always thinks refuses `none`; `low` is the least that all of them take. */
function reasoningEffort(
  request: LlmRequest,
  model: VendorModel,
): Pick<ChatCompletionCreateParams, 'reasoning_effort'> {
  const effort = sentEffort(request, model);
  if (effort === undefined) return {};
  return { reasoning_effort: effort === 'none' && model.capabilities.has('always_thinks') ? 'low' : effort };
}

/** OpenAI pads each chunk with a text of random length unless told not to. */
function streamOptions(dialect: ChatDialect): ChatCompletionStreamOptions {
  return { include_usage: true, ...(dialect.vendor === 'openai' && { include_obfuscation: false }) };
}

/** Models that reason by themselves refuse sampling parameters with 400. */
function sampling(
  request: LlmRequest,
  model: VendorModel,
  dialect: ChatDialect,
): Partial<ChatCompletionCreateParams> {
  const sampled = model.capabilities.has('temperature');
  const { stop = [] } = request;
  return {
    ...(sampled && request.temperature !== undefined && { temperature: request.temperature }),
    ...(sampled && request.topP !== undefined && { top_p: request.topP }),
    ...(sampled && dialect.takesTopK && request.topK !== undefined && { top_k: request.topK }),
    ...(sampled && request.presencePenalty !== undefined && { presence_penalty: request.presencePenalty }),
    ...(sampled && request.frequencyPenalty !== undefined && { frequency_penalty: request.frequencyPenalty }),
    ...(sampled && stop.length > 0 && { stop: stop.slice(0, dialect.stopsMax) }),
    ...(request.seed !== undefined && { seed: request.seed }),
  };
}

function tools(
  request: LlmRequest,
  dialect: ChatDialect,
): Pick<ChatCompletionCreateParams, 'tools' | 'tool_choice' | 'parallel_tool_calls'> {
  if (request.tools === undefined || request.tools.length === 0) return {};
  const choice = request.toolChoice;
  return {
    tools: request.tools.map((tool): ChatCompletionTool => ({
      type: 'function',
      function: {
        name: tool.name,
        ...(tool.description !== undefined && { description: tool.description }),
        parameters: tool.parameters,
        ...(tool.strict !== undefined && { strict: tool.strict }),
      },
      ...marked(tool.cache, dialect),
    })),
    ...(choice !== undefined && {
      tool_choice:
        typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } },
    }),
    ...(request.parallelToolCalls === false && { parallel_tool_calls: false }),
  };
}

function responseFormat(request: LlmRequest): Pick<ChatCompletionCreateParams, 'response_format'> {
  const format = request.responseFormat;
  if (format === undefined || format.type === 'text') return {};
  if (format.type === 'json') return { response_format: { type: 'json_object' } };
  return {
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: format.name,
        ...(format.description !== undefined && { description: format.description }),
        schema: { ...format.schema },
        ...(format.strict !== undefined && { strict: format.strict }),
      },
    },
  };
}

function toMessage(message: Message, dialect: ChatDialect): ChatCompletionMessageParam {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: textContent(message.content, message.cache, dialect) };
    case 'user':
      return { role: 'user', content: userContent(message.content, dialect) };
    case 'assistant':
      return assistantMessage(message, dialect);
    case 'tool':
      // This dialect has no images in tool results, and no flag for a failed one: the text says so.
      return {
        role: 'tool',
        tool_call_id: message.callId,
        content: textContent(
          message.content.map((part) => (part.type === 'text' ? part.text : '[image]')).join('\n'),
          message.cache,
          dialect,
        ),
      };
  }
}

/** A single text is sent as a plain string: the oldest and smallest servers of this dialect accept nothing else. */
function userContent(parts: readonly UserPart[], dialect: ChatDialect): string | ChatCompletionContentPart[] {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined && 'text' in first && !isMarked(first, dialect)) {
    return first.text;
  }
  return parts.map((part) => ({
    ...contentPart(part),
    ...marked(part.type === 'context' ? undefined : part.cache, dialect),
  }));
}

function contentPart(part: UserPart): ChatCompletionContentPart {
  if (part.type === 'image') return image(part);
  return part.type === 'file' ? file(part) : { type: 'text', text: part.text };
}

function isMarked(part: UserPart, dialect: ChatDialect): boolean {
  return dialect.takesCacheMarks === true && part.type !== 'context' && part.cache !== undefined;
}

function textContent(
  text: string,
  mark: CacheMark | undefined,
  dialect: ChatDialect,
): string | ChatCompletionContentPartText[] {
  if (mark === undefined || dialect.takesCacheMarks !== true) return text;
  return [{ type: 'text', text, ...marked(mark, dialect) }];
}

function marked(mark: CacheMark | undefined, dialect: ChatDialect): { cache_control?: object } {
  if (mark === undefined || dialect.takesCacheMarks !== true) return {};
  return { cache_control: { type: 'ephemeral', ...(mark.ttl === '1h' && { ttl: '1h' }) } };
}

/** This dialect takes no addresses of files: the platform fetches them before. A file must have a name. */
function file({ source, name }: FilePart): ChatCompletionContentPart {
  if (source.kind === 'url') return { type: 'text', text: source.url };
  const data = `data:${source.mediaType};base64,${source.data}`;
  return { type: 'file', file: { filename: name ?? 'document.pdf', file_data: data } };
}

function image(part: ImagePart): ChatCompletionContentPart {
  const { source } = part;
  const url = source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;
  return { type: 'image_url', image_url: { url } };
}

function assistantMessage(message: AssistantMessage, dialect: ChatDialect): ChatCompletionMessageParam {
  let content = '';
  const calls: ChatCompletionMessageToolCall[] = [];
  const signatures: string[] = [];
  for (const part of message.content) {
    if (part.type === 'text') content += part.text;
    else if (part.type === 'tool_call') {
      const { id, name, arguments: written } = part;
      calls.push({ id, type: 'function', function: { name, arguments: written === '' ? '{}' : written } });
    } else if (part.type === 'thinking' && part.signature !== undefined) signatures.push(part.signature);
  }
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(signatures.length > 0 && dialect.extraForAssistant?.(signatures)),
  };
}
