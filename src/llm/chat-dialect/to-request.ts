import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParams,
  ChatCompletionMessageParam,
  ChatCompletionMessageToolCall,
  ChatCompletionStreamOptions,
  ChatCompletionTool,
} from 'openai/resources/chat/completions';
import type { AssistantMessage, FilePart, ImagePart, LlmRequest, Message, UserPart } from '../contract.js';
import type { VendorModel, VendorRequest } from '../vendor.js';
import type { ChatDialect } from './dialect.js';

export function toChatRequest(request: LlmRequest, model: VendorModel, dialect: ChatDialect): VendorRequest {
  const body = {
    model: model.name,
    messages: request.messages.map((message) => toMessage(message, dialect)),
    ...sampling(request, model),
    ...(request.maxTokens !== undefined && { [dialect.maxTokensField]: request.maxTokens }),
    ...tools(request),
    ...responseFormat(request),
    ...(dialect.sendsReasoningEffort &&
      request.reasoningEffort !== undefined &&
      model.capabilities.has('reasoning') && { reasoning_effort: request.reasoningEffort }),
    ...(request.stream && { stream: true as const }),
    ...(request.stream && dialect.asksForUsage && { stream_options: streamOptions(dialect) }),
  } satisfies ChatCompletionCreateParams;
  return { path: '/chat/completions', body: JSON.stringify(body) };
}

/** OpenAI pads each chunk with a text of random length unless told not to. */
function streamOptions(dialect: ChatDialect): ChatCompletionStreamOptions {
  return { include_usage: true, ...(dialect.vendor === 'openai' && { include_obfuscation: false }) };
}

/** Models that reason by themselves refuse sampling parameters with 400. */
function sampling(request: LlmRequest, model: VendorModel): Partial<ChatCompletionCreateParams> {
  const sampled = model.capabilities.has('temperature');
  return {
    ...(sampled && request.temperature !== undefined && { temperature: request.temperature }),
    ...(sampled && request.topP !== undefined && { top_p: request.topP }),
    ...(sampled && request.stop !== undefined && request.stop.length > 0 && { stop: [...request.stop] }),
    ...(request.seed !== undefined && { seed: request.seed }),
  };
}

function tools(
  request: LlmRequest,
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
      },
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
      json_schema: { name: format.name, schema: { ...format.schema } },
    },
  };
}

function toMessage(message: Message, dialect: ChatDialect): ChatCompletionMessageParam {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content };
    case 'user':
      return { role: 'user', content: userContent(message.content) };
    case 'assistant':
      return assistantMessage(message, dialect);
    case 'tool':
      // This dialect has no images in tool results, and no flag for a failed one: the text says so.
      return {
        role: 'tool',
        tool_call_id: message.callId,
        content: message.content.map((part) => (part.type === 'text' ? part.text : '[image]')).join('\n'),
      };
  }
}

/** A single text is sent as a plain string: the oldest and smallest servers of this dialect accept nothing else. */
function userContent(parts: readonly UserPart[]): string | ChatCompletionContentPart[] {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined && 'text' in first) return first.text;
  return parts.map((part) => {
    if (part.type === 'image') return image(part);
    return part.type === 'file' ? file(part) : { type: 'text', text: part.text };
  });
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
