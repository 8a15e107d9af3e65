import type { ChatCompletion, ChatCompletionMessage } from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import type { Model as ChatModel } from 'openai/resources/models';
import {
  type LlmAnswer,
  type StopReason,
  inputTokens,
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
  const calls = answer.toolCalls.map((call) => ({
    id: call.id,
    type: 'function' as const,
    function: { name: call.name, arguments: call.arguments },
  }));
  const thoughts = answer.content.map((part) => (part.type === 'thinking' ? part.text : '')).join('');
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
  return {
    prompt_tokens: inputTokens(usage),
    completion_tokens: outputTokens(usage),
    total_tokens: totalTokens(usage),
    prompt_tokens_details: { cached_tokens: usage.cacheRead },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}

export function toChatModel(
  { id, vendor }: { readonly id: string; readonly vendor: string },
  createdSeconds: number,
): Pick<ChatModel, keyof ChatModel> {
  return { id, object: 'model', created: createdSeconds, owned_by: vendor };
}
