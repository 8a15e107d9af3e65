/** Translates a request of OpenAI's Responses API into the platform's own request. */
import { invalidField, PlatformError } from '../../../kernel/errors.js';
import type { LlmRequest, Message } from '../../../llm/index.js';
import { isJsonObject } from '../../../http/operations/index.js';
import { ignoredFields } from '../body-fields.js';
import { parseCompatBody } from '../compat-request.js';
import { messagesOf } from './input-items.js';
import { bodyRules, otherTool, type ResponsesBody, responsesBody } from './request-shape.js';

export interface ResponsesRequest {
  readonly given: ResponsesBody;
  readonly input: unknown;
  /** Fields without effect. */
  readonly ignored: ReadonlySet<string>;
}

export function fromResponsesRequest(body: Readonly<Record<string, unknown>>): ResponsesRequest {
  const ignored = new Set(ignoredFields(body, bodyRules));
  refuseOtherTools(body['tools']);
  const given = parseCompatBody(responsesBody, body);
  if (given.stream_options?.include_obfuscation === true) ignored.add('stream_options.include_obfuscation');
  const { input } = body;
  if (input === undefined || input === null) {
    throw new PlatformError('missing_required_field', {
      message: 'input is required.',
      details: { field: 'input', issue: 'required' },
    });
  }
  return { given, input, ignored };
}

/** Before the shapes, whose message would not name the tool. */
function refuseOtherTools(tools: unknown): void {
  if (!Array.isArray(tools)) return;
  for (const [at, tool] of tools.entries()) {
    const type: unknown = isJsonObject(tool) ? tool['type'] : undefined;
    if (typeof type === 'string' && type !== 'function') {
      throw invalidField(`tools.${at}.type`, `${type.slice(0, 50)} ${otherTool}`);
    }
  }
}

/** The call, after the messages of the former responses. `added`: what this request adds to the conversation. */
export function callOf(
  { given, input, ignored }: ResponsesRequest,
  history: readonly Message[],
): {
  readonly request: LlmRequest;
  readonly added: readonly Message[];
  readonly ignored: ReadonlySet<string>;
} {
  const all = new Set(ignored);
  const added = messagesOf(input, history, all);
  const instructions: readonly Message[] =
    given.instructions == null ? [] : [{ role: 'system', content: given.instructions }];
  const request: LlmRequest = {
    messages: [...instructions, ...history, ...added],
    ...tools(given),
    ...(given.temperature != null && { temperature: given.temperature }),
    ...(given.top_p != null && { topP: given.top_p }),
    ...(given.max_output_tokens != null && { maxTokens: given.max_output_tokens }),
    ...responseFormat(given),
    ...(given.reasoning?.effort != null && { reasoningEffort: efforts[given.reasoning.effort] }),
    stream: given.stream === true,
  };
  return { request, added, ignored: all };
}

const efforts = {
  none: 'none',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
} as const;

function tools(given: ResponsesBody): Pick<LlmRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  if (given.tools == null || given.tools.length === 0) return {};
  const choice = given.tool_choice;
  return {
    tools: given.tools.map(({ name, description, parameters, strict }) => ({
      name,
      ...(description != null && { description }),
      parameters: parameters ?? { type: 'object', properties: {} },
      ...(strict != null && { strict }),
    })),
    ...(choice != null && { toolChoice: typeof choice === 'string' ? choice : { name: choice.name } }),
    ...(given.parallel_tool_calls != null && { parallelToolCalls: given.parallel_tool_calls }),
  };
}

function responseFormat({ text }: ResponsesBody): Pick<LlmRequest, 'responseFormat'> {
  const format = text?.format;
  if (format == null || format.type === 'text') return {};
  if (format.type === 'json_object') return { responseFormat: { type: 'json' } };
  const { name, schema, description, strict } = format;
  return {
    responseFormat: {
      type: 'json_schema',
      name,
      schema,
      ...(description != null && { description }),
      ...(strict != null && { strict }),
    },
  };
}
