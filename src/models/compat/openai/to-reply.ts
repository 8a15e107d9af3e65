import type { ChatCompletion, ChatCompletionMessage } from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import type { Model as ChatModel } from 'openai/resources/models';
import {
  type LlmAnswer,
  type StopReason,
  type ToolCallPart,
  inputTokens,
  isRecord,
  outputTokens,
  totalTokens,
  type Usage,
} from '../../../llm/index.js';

export interface ReplyHead {
  readonly id: string;
  readonly createdSeconds: number;
  /** The id of the model that answered. */
  readonly model: string;
}

export function toChatReply(answer: LlmAnswer, usage: Usage, head: ReplyHead): ChatCompletion {
  const whole =
    answer.whole?.dialect === 'chat' ? asWritten(answer.whole.body, answer, usage, head) : undefined;
  if (whole !== undefined) return whole;
  const calls = answer.toolCalls.map((call) => ({
    id: call.id,
    type: 'function' as const,
    function: { name: call.name, arguments: call.arguments },
  }));
  const thoughts = thoughtsIn(answer.content);
  const message: ChatCompletionMessage & { reasoning_content?: string } = {
    role: 'assistant',
    content: answer.text === '' && calls.length > 0 ? null : answer.text,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(thoughts !== '' && { reasoning_content: thoughts }),
  };
  const reason = chatFinishReason(answer.stop ?? 'stop');
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.createdSeconds,
    model: head.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: reason }],
    usage: toChatUsage(usage),
  };
}

/**
 * The vendor's reply of this very format: all of it, but for what the platform names and counts itself, and what clients
 * of OpenAI cannot read as an imitator wrote it.
 */
function asWritten(
  body: Readonly<Record<string, unknown>>,
  answer: LlmAnswer,
  usage: Usage,
  head: ReplyHead,
): ChatCompletion | undefined {
  const { choices } = body;
  if (!Array.isArray(choices)) return undefined;
  const reply: object = {
    ...body,
    id: head.id,
    object: 'chat.completion',
    created: head.createdSeconds,
    model: head.model,
    choices: choices.slice(0, 1).map((choice: unknown) => readable(choice, answer)),
    usage: usageAsWritten(body['usage'], usage),
  };
  return reply as ChatCompletion;
}

/** Imitators leave out fields that clients read, and write others in forms of their own. */
function readable(choice: unknown, answer: LlmAnswer): unknown {
  if (!isRecord(choice) || !isRecord(choice['message'])) return choice;
  const { message: written, finish_reason: reason } = choice;
  const message = {
    role: 'assistant',
    content: null,
    refusal: null,
    ...written,
    ...(Array.isArray(written['content']) && textAsRead(answer)),
    ...callsAsRead(written['tool_calls'], answer),
  };
  return { index: 0, logprobs: null, ...choice, message, finish_reason: reasonAsRead(reason, answer) };
}

/** Mistral's models that think write a list of texts and thoughts. */
function textAsRead({ text, content }: LlmAnswer): object {
  const thoughts = thoughtsIn(content);
  return { content: text, ...(thoughts !== '' && { reasoning_content: thoughts }) };
}

function thoughtsIn(content: LlmAnswer['content']): string {
  return content.map((part) => (part.type === 'thinking' ? part.text : '')).join('');
}

function callsAsRead(written: unknown, { toolCalls }: LlmAnswer): { readonly tool_calls?: unknown } {
  if (!Array.isArray(written) || toolCalls.length === 0) return {};
  return { tool_calls: written.filter(isRecord).map((call, index) => callAsRead(call, toolCalls[index])) };
}

/** With an id, and with arguments that are text. */
function callAsRead(call: Readonly<Record<string, unknown>>, read: ToolCallPart | undefined): unknown {
  if (read === undefined) return call;
  const { function: named } = call;
  if (!isRecord(named)) return { ...call, id: read.id };
  return { ...call, id: read.id, type: 'function', function: { ...named, arguments: read.arguments } };
}

/** Imitators end with none, or with `stop` although they called a tool. */
function reasonAsRead(written: unknown, { stop = 'stop' }: LlmAnswer): unknown {
  const isGiven = typeof written === 'string' && written !== '';
  return isGiven && !(written === 'stop' && stop === 'tool_calls') ? written : chatFinishReason(stop);
}

/** The vendor's own usage of this very format: all of it, with the counts as the platform books them. */
function usageAsWritten(written: unknown, usage: Usage): object {
  const raw = isRecord(written) ? written : {};
  const counted = toChatUsage(usage);
  return {
    ...raw,
    ...counted,
    prompt_tokens_details: merged(raw['prompt_tokens_details'], counted.prompt_tokens_details),
    completion_tokens_details: merged(raw['completion_tokens_details'], counted.completion_tokens_details),
  };
}

/** For the last chunk of a stream: with the vendor's other details, if it counts in this format. */
export function chunkUsage(usage: Usage): object {
  const { raw } = usage;
  return isRecord(raw) && 'prompt_tokens' in raw ? usageAsWritten(raw, usage) : toChatUsage(usage);
}

function merged(raw: unknown, counted: object | undefined): object {
  return { ...(isRecord(raw) && raw), ...counted };
}

const finishReasons = {
  stop: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  context_overflow: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  refusal: 'content_filter',
  pause: 'stop',
  error: 'stop',
  other: 'stop',
} as const satisfies Record<StopReason, ChatCompletion.Choice['finish_reason']>;

export function chatFinishReason(reason: StopReason): ChatCompletion.Choice['finish_reason'] {
  return finishReasons[reason];
}

export function toChatUsage(usage: Usage): CompletionUsage {
  const written = usage.cacheWrite5m + usage.cacheWrite1h;
  return {
    prompt_tokens: inputTokens(usage),
    completion_tokens: outputTokens(usage),
    total_tokens: totalTokens(usage),
    prompt_tokens_details: {
      cached_tokens: usage.cacheRead,
      ...(written > 0 && { cache_write_tokens: written }),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}

export function toChatModel(
  { id, vendor }: { readonly id: string; readonly vendor: string },
  createdSeconds: number,
): Pick<ChatModel, keyof ChatModel> {
  return { id, object: 'model', created: createdSeconds, owned_by: vendor };
}
