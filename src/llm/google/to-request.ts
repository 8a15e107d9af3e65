import type {
  Content,
  FunctionCallingConfigMode,
  GenerationConfig,
  Part,
  ThinkingLevel,
  Tool,
} from '@google/genai';
import type {
  AssistantPart,
  FilePart,
  ImagePart,
  LlmRequest,
  Message,
  ToolMessage,
  UserPart,
} from '../contract.js';
import { argumentsObject, isRecord, parseJson } from '../reply-json.js';
import { sentStops } from '../sent-stops.js';
import { sentEffort } from '../thinking-budget.js';
import type { VendorModel, VendorRequest } from '../vendor.js';

/** The SDK's enumerations as strings; the rest of the body has the SDK's own types. */
interface GeminiBody {
  readonly contents: Content[];
  readonly systemInstruction?: Content;
  readonly tools?: Tool[];
  readonly toolConfig?: {
    readonly functionCallingConfig: {
      readonly mode: `${FunctionCallingConfigMode}`;
      readonly allowedFunctionNames?: string[];
    };
  };
  readonly generationConfig?: Omit<GenerationConfig, 'thinkingConfig'> & {
    readonly thinkingConfig?: {
      readonly includeThoughts?: boolean;
      readonly thinkingBudget?: number;
      readonly thinkingLevel?: `${ThinkingLevel}`;
    };
  };
}

/** The vendor's marker for a call made elsewhere: a call without a signature is refused with 400. */
const foreignCallSignature = 'skip_thought_signature_validator';

const thinkingBudget = { low: 1024, medium: 8192, high: 24_576 } as const;

export function toGeminiRequest(request: LlmRequest, model: VendorModel): VendorRequest {
  const system = request.messages.flatMap((message) =>
    message.role === 'system' ? [{ text: message.content }] : [],
  );
  const body = {
    contents: contents(request.messages, model),
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    ...tools(request),
    generationConfig: generationConfig(request, model),
  } satisfies GeminiBody;
  const method = request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  return {
    path: `/v1beta/models/${encodeURIComponent(model.name)}:${method}`,
    body: JSON.stringify(body),
  };
}

function generationConfig(
  request: LlmRequest,
  model: VendorModel,
): NonNullable<GeminiBody['generationConfig']> {
  const sampled = model.capabilities.has('temperature');
  const format = request.responseFormat;
  const stops = sentStops('google', request);
  return {
    ...(sampled && request.temperature !== undefined && { temperature: request.temperature }),
    ...(sampled && request.topP !== undefined && { topP: request.topP }),
    ...(sampled && request.topK !== undefined && { topK: request.topK }),
    ...(request.presencePenalty !== undefined && { presencePenalty: request.presencePenalty }),
    ...(request.frequencyPenalty !== undefined && { frequencyPenalty: request.frequencyPenalty }),
    ...(request.maxTokens !== undefined && { maxOutputTokens: request.maxTokens }),
    ...(stops.length > 0 && { stopSequences: [...stops] }),
    ...(request.seed !== undefined && { seed: request.seed }),
    ...(format !== undefined && format.type !== 'text' && { responseMimeType: 'application/json' }),
    ...(format?.type === 'json_schema' && { responseJsonSchema: format.schema }),
    ...thinking(request, model),
  };
}

function thinking(
  request: LlmRequest,
  model: VendorModel,
): Pick<NonNullable<GeminiBody['generationConfig']>, 'thinkingConfig'> {
  const effort = sentEffort(request, model);
  if (effort === undefined) return {};
  if (model.capabilities.has('thinking_level')) {
    const level = effort === 'none' || effort === 'low' ? 'LOW' : 'HIGH';
    return { thinkingConfig: { includeThoughts: effort !== 'none', thinkingLevel: level } };
  }
  const { min = 1, max = Infinity } = model.thinkingBudget ?? {};
  if (effort === 'none') {
    // Such a model refuses 0.
    const least = model.capabilities.has('always_thinks') ? min : 0;
    return { thinkingConfig: { thinkingBudget: least } };
  }
  const budget = Math.max(min, Math.min(max, request.thinkingBudget ?? thinkingBudget[effort]));
  return { thinkingConfig: { includeThoughts: true, thinkingBudget: budget } };
}

function tools(request: LlmRequest): Pick<GeminiBody, 'tools' | 'toolConfig'> {
  if (request.tools === undefined || request.tools.length === 0) return {};
  const functionDeclarations = request.tools.map((tool) => ({
    name: tool.name,
    ...(tool.description !== undefined && { description: tool.description }),
    parametersJsonSchema: tool.parameters,
  }));
  const choice = request.toolChoice;
  if (choice === undefined || choice === 'auto') {
    // A strict tool needs the mode that holds calls to their schemas.
    const strict = request.tools.some((tool) => tool.strict === true);
    const held = { functionCallingConfig: { mode: 'VALIDATED' as const } };
    return { tools: [{ functionDeclarations }], ...(strict && { toolConfig: held }) };
  }
  const functionCallingConfig =
    typeof choice === 'object'
      ? { mode: 'ANY' as const, allowedFunctionNames: [choice.name] }
      : { mode: choice === 'none' ? ('NONE' as const) : ('ANY' as const) };
  return { tools: [{ functionDeclarations }], toolConfig: { functionCallingConfig } };
}

/** Roles must alternate, so the results of parallel calls are one content. */
function contents(messages: readonly Message[], model: VendorModel): Content[] {
  const result: { role: string; parts: Part[] }[] = [];
  for (const message of messages) {
    if (message.role === 'system') continue;
    const role = message.role === 'assistant' ? 'model' : 'user';
    const parts = partsOf(message, model);
    if (parts.length === 0) continue;
    const last = result.at(-1);
    if (last?.role !== role) result.push({ role, parts });
    else for (const part of parts) last.parts.push(part);
  }
  return result;
}

function partsOf(message: Exclude<Message, { role: 'system' }>, model: VendorModel): Part[] {
  switch (message.role) {
    case 'user':
      return message.content.map(userPart);
    case 'assistant':
      return assistantParts(message.content, model);
    case 'tool':
      return toolResult(message);
  }
}

function userPart(part: UserPart): Part {
  return part.type === 'image' || part.type === 'file' ? dataPart(part) : { text: part.text };
}

function dataPart({ source }: ImagePart | FilePart): Part {
  return source.kind === 'url'
    ? { fileData: { fileUri: source.url } }
    : { inlineData: { mimeType: source.mediaType, data: source.data } };
}

function assistantParts(parts: readonly AssistantPart[], model: VendorModel): Part[] {
  const result: Part[] = [];
  let callsSoFar = 0;
  for (const part of parts) {
    if (part.type === 'text' && (part.text !== '' || part.signature !== undefined)) {
      result.push({
        text: part.text,
        ...(part.signature !== undefined && { thoughtSignature: part.signature }),
      });
    } else if (part.type === 'tool_call') {
      // Of parallel calls only the first is signed.
      const unsigned = callsSoFar === 0 && model.capabilities.has('signed_calls');
      const signature = part.signature ?? (unsigned ? foreignCallSignature : undefined);
      callsSoFar += 1;
      result.push({
        functionCall: { name: part.name, args: argumentsObject(part.arguments) },
        ...(signature !== undefined && { thoughtSignature: signature }),
      });
    }
    // Readable thoughts are summaries that the vendor does not accept back.
  }
  return result;
}

/** Results are matched by name and order, since ids are optional here and may be generated. */
function toolResult(message: ToolMessage): Part[] {
  const written = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  const parsed = parseJson(written);
  const output = isRecord(parsed) ? parsed : written;
  const response = message.isError === true ? { error: output } : { output };
  const images = message.content.flatMap((part) => (part.type === 'image' ? [dataPart(part)] : []));
  return [{ functionResponse: { name: message.name, response } }, ...images];
}
