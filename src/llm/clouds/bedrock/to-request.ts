import type {
  AssistantPart,
  CacheMark,
  FilePart,
  ImagePart,
  LlmRequest,
  Message,
  ToolChoice,
  ToolMessage,
  UserPart,
} from '../../contract.js';
import { argumentsObject } from '../../reply-json.js';
import { addedForThoughts, sentBound, sentEffort } from '../../thinking-budget.js';
import type { VendorModel, VendorRequest } from '../../vendor.js';
import { VendorError } from '../../vendor-error.js';
import { withoutToolBlocks } from './without-tools.js';

/** A block of content of the Converse interface: an object with one field, its kind. */
type Block = Readonly<Record<string, unknown>>;

/** Converse: one form for the models of all makers that Amazon serves. */
export function toConverseRequest(vendor: string, request: LlmRequest, model: VendorModel): VendorRequest {
  const system: Block[] = request.messages.flatMap((message) =>
    message.role === 'system' ? withMark(textBlock(message.content), message.cache, model) : [],
  );
  if (request.responseFormat?.type === 'json')
    system.push({ text: 'Answer with one JSON object and nothing else.' });
  const declared = toolConfig(request, model);
  const said = declared === undefined ? withoutToolBlocks(request.messages) : request.messages;
  const body = {
    messages: messages(vendor, said, model),
    ...(system.length > 0 && { system }),
    inferenceConfig: inferenceConfig(request, model),
    ...(declared !== undefined && { toolConfig: declared }),
    ...outputConfig(request),
    ...modelFields(request, model),
  };
  const method = request.stream ? 'converse-stream' : 'converse';
  return { path: `/model/${encodeURIComponent(model.name)}/${method}`, body: JSON.stringify(body) };
}

/** Converse has no fields for thoughts; it hands these to the model. */
function modelFields(request: LlmRequest, model: VendorModel): Block {
  const effort = sentEffort(request, model);
  if (effort === undefined) return {};
  const adaptive = model.capabilities.has('adaptive_thinking');
  if (effort === 'none') {
    const off = adaptive && !model.capabilities.has('always_thinks');
    return off ? { additionalModelRequestFields: { thinking: { type: 'disabled' } } } : {};
  }
  const budget_tokens = addedForThoughts('bedrock', request, model);
  return {
    additionalModelRequestFields: adaptive
      ? { thinking: { type: 'adaptive' }, output_config: { effort } }
      : { thinking: { type: 'enabled', budget_tokens } },
  };
}

/** Thoughts count in the bound of the output, and exclude sampling parameters. */
function inferenceConfig(request: LlmRequest, model: VendorModel): Block {
  const { maxTokens, temperature, topP, stop } = request;
  const budget = addedForThoughts('bedrock', request, model);
  const isSampled =
    model.capabilities.has('temperature') && (sentEffort(request, model) ?? 'none') === 'none';
  return {
    ...(maxTokens !== undefined && { maxTokens: sentBound('bedrock', request, model, maxTokens) }),
    ...(maxTokens === undefined && budget > 0 && { maxTokens: model.maxOutputTokens }),
    ...(isSampled && temperature !== undefined && { temperature: Math.min(1, temperature) }),
    ...(isSampled && temperature === undefined && topP !== undefined && { topP }),
    ...(stop !== undefined && stop.length > 0 && { stopSequences: stop }),
  };
}

function outputConfig({ responseFormat: format }: LlmRequest): Block {
  if (format?.type !== 'json_schema') return {};
  const jsonSchema = { name: format.name, schema: JSON.stringify(format.schema) };
  return { outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema } } } };
}

/** `none` is unknown here: without tools in the request no model calls one. */
function toolConfig({ tools, toolChoice }: LlmRequest, model: VendorModel): Block | undefined {
  if (tools === undefined || tools.length === 0 || toolChoice === 'none') return undefined;
  const declared = tools.flatMap(({ name, description, parameters, strict, cache }) => {
    const toolSpec = {
      name,
      ...(description !== undefined && description !== '' && { description }),
      inputSchema: { json: { ...parameters, type: 'object' } },
      ...(strict === true && { strict }),
    };
    return withMark([{ toolSpec }], cache, model);
  });
  const choice = choiceOf(toolChoice, model);
  return { tools: declared, ...(choice !== undefined && { toolChoice: choice }) };
}

function choiceOf(choice: ToolChoice | undefined, model: VendorModel): Block | undefined {
  if (choice === undefined || choice === 'none') return undefined;
  if (choice === 'auto' || !model.capabilities.has('forced_tools')) return { auto: {} };
  return choice === 'required' ? { any: {} } : { tool: { name: choice.name } };
}

/** Roles alternate: results of tools belong to the user, and neighbours of one role become one message. */
function messages(vendor: string, all: readonly Message[], model: VendorModel): readonly Block[] {
  const result: { role: 'user' | 'assistant'; content: Block[] }[] = [];
  for (const message of all) {
    if (message.role === 'system') continue;
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const blocks = blocksOf(vendor, message, model);
    if (blocks.length === 0) continue;
    const last = result.at(-1);
    if (last?.role !== role) result.push({ role, content: [...blocks] });
    else for (const block of blocks) last.content.push(block);
  }
  return result;
}

function blocksOf(
  vendor: string,
  message: Exclude<Message, { role: 'system' }>,
  model: VendorModel,
): readonly Block[] {
  switch (message.role) {
    case 'user':
      return message.content.flatMap((part) =>
        withMark(userBlock(vendor, part), part.type === 'context' ? undefined : part.cache, model),
      );
    case 'assistant':
      return message.content.flatMap(assistantBlock);
    case 'tool':
      return withMark([toolResult(vendor, message)], message.cache, model);
  }
}

/** A mark follows what is to be kept. Models without a cache refuse it. */
function withMark(
  blocks: readonly Block[],
  mark: CacheMark | undefined,
  { capabilities }: VendorModel,
): readonly Block[] {
  if (mark === undefined || blocks.length === 0 || !capabilities.has('prompt_caching')) return blocks;
  return [...blocks, { cachePoint: { type: 'default', ...(mark.ttl === '1h' && { ttl: '1h' }) } }];
}

/** Empty texts are refused. */
function textBlock(text: string): readonly Block[] {
  return text === '' ? [] : [{ text }];
}

function userBlock(vendor: string, part: UserPart): readonly Block[] {
  if (part.type === 'image') return [imageBlock(vendor, part)];
  return part.type === 'file' ? [documentBlock(vendor, part)] : textBlock(part.text);
}

/** A name is required, of letters, digits, blanks, hyphens and brackets. */
function documentBlock(vendor: string, { source, name = 'document' }: FilePart): Block {
  if (source.kind === 'url') {
    throw new VendorError('request', 'documents are taken as data, not by address', { vendor });
  }
  const plain = name
    .replaceAll(/[^A-Za-z0-9 ()[\]-]+/g, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  const format = source.mediaType.replace(/^application\//, '');
  return { document: { format, name: plain === '' ? 'document' : plain, source: { bytes: source.data } } };
}

function imageBlock(vendor: string, { source }: ImagePart): Block {
  if (source.kind === 'url') {
    throw new VendorError('request', 'images are taken as data, not by address', { vendor });
  }
  const format = source.mediaType.replace(/^image\//, '').replace('jpg', 'jpeg');
  return { image: { format, source: { bytes: source.data } } };
}

function assistantBlock(part: AssistantPart): readonly Block[] {
  switch (part.type) {
    case 'text':
      return textBlock(part.text);
    case 'thinking':
      // Without its signature a thought cannot be given back.
      return part.signature === undefined
        ? []
        : [{ reasoningContent: { reasoningText: { text: part.text, signature: part.signature } } }];
    case 'redacted_thinking':
      return [{ reasoningContent: { redactedContent: part.data } }];
    case 'tool_call':
      return [{ toolUse: { toolUseId: part.id, name: part.name, input: argumentsObject(part.arguments) } }];
  }
}

function toolResult(vendor: string, { callId, content, isError }: ToolMessage): Block {
  const blocks = content.flatMap((part) =>
    part.type === 'image' ? [imageBlock(vendor, part)] : textBlock(part.text),
  );
  return {
    toolResult: {
      toolUseId: callId,
      content: blocks.length > 0 ? blocks : [{ text: '(empty)' }],
      ...(isError === true && { status: 'error' }),
    },
  };
}
