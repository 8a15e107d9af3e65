/** The response object of OpenAI's Responses API. */
import type {
  Response,
  ResponseFunctionToolCall,
  ResponseOutputMessage,
  ResponseReasoningItem,
  ResponseUsage,
  Tool,
} from 'openai/resources/responses/responses';
import { inputTokens, outputTokens, type StopReason, totalTokens, type Usage } from '../../../llm/index.js';
import type { ResponsesBody } from './request-shape.js';

export type OutputItem = ResponseOutputMessage | ResponseFunctionToolCall | ResponseReasoningItem;

/** Clients add `output_text` themselves. */
export type ResponseObject = Omit<Response, 'output_text' | 'output'> & {
  readonly output: readonly OutputItem[];
  readonly store: boolean;
};

export interface ResponseHead {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: string;
}

/** A response that has just begun: what was asked for, and no output yet. */
export function begunResponse(
  given: ResponsesBody,
  { id, createdSeconds, model }: ResponseHead,
): ResponseObject {
  return {
    id,
    object: 'response',
    created_at: createdSeconds,
    status: 'in_progress',
    background: false,
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: given.instructions ?? null,
    max_output_tokens: given.max_output_tokens ?? null,
    model,
    output: [],
    parallel_tool_calls: given.parallel_tool_calls ?? true,
    previous_response_id: given.previous_response_id ?? null,
    reasoning: { effort: given.reasoning?.effort ?? null, summary: given.reasoning?.summary ?? null },
    store: given.store ?? true,
    temperature: given.temperature ?? 1,
    text: { format: formatOf(given), verbosity: 'medium' },
    tool_choice: given.tool_choice ?? 'auto',
    tools: (given.tools ?? []).map(toolOf),
    top_logprobs: 0,
    top_p: given.top_p ?? 1,
    truncation: 'disabled',
    metadata: given.metadata ?? {},
  };
}

function formatOf({ text }: ResponsesBody): NonNullable<NonNullable<Response['text']>['format']> {
  const format = text?.format ?? { type: 'text' as const };
  if (format.type !== 'json_schema') return format;
  const { type, name, schema, description, strict } = format;
  return { type, name, schema, strict: strict ?? false, ...(description != null && { description }) };
}

function toolOf({
  name,
  description,
  parameters,
  strict,
}: NonNullable<ResponsesBody['tools']>[number]): Tool {
  return {
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? false,
  };
}

const incomplete: Partial<Record<StopReason, 'max_output_tokens' | 'content_filter'>> = {
  length: 'max_output_tokens',
  context_overflow: 'max_output_tokens',
  content_filter: 'content_filter',
};

export function endedResponse(
  begun: ResponseObject,
  end: {
    readonly output: readonly OutputItem[];
    readonly usage: Usage;
    readonly stop: StopReason;
    readonly completedSeconds: number;
  },
): ResponseObject {
  const reason = incomplete[end.stop];
  const { output, usage } = end;
  return {
    ...begun,
    output,
    usage: usageOf(usage),
    ...(reason === undefined
      ? { status: 'completed', completed_at: end.completedSeconds }
      : { status: 'incomplete', incomplete_details: { reason } }),
  };
}

function usageOf(usage: Usage): ResponseUsage {
  return {
    input_tokens: inputTokens(usage),
    input_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
    },
    output_tokens: outputTokens(usage),
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: totalTokens(usage),
  };
}
