import type { StopReason as MessagesStopReason } from '@anthropic-ai/sdk/resources/messages';
import {
  type LlmAnswer,
  type AssistantPart,
  type Origin,
  type StopReason,
  argumentsObject,
  isRecord,
  packSignature,
  outputTokens,
  type Usage,
} from '../../../llm/index.js';

const stopReasons = {
  stop: 'end_turn',
  stop_sequence: 'stop_sequence',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
  refusal: 'refusal',
  context_overflow: 'model_context_window_exceeded',
  pause: 'pause_turn',
  error: 'end_turn',
  other: 'end_turn',
} as const satisfies Record<StopReason, MessagesStopReason>;

export function messagesStopReason(reason: StopReason): MessagesStopReason {
  return stopReasons[reason];
}

export interface MessagesUsage {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  };
  readonly output_tokens: number;
}

/** In this format the input count excludes cache reads and writes. */
export function toMessagesUsage(usage: Usage): MessagesUsage {
  return {
    input_tokens: usage.inputUncached + usage.toolPrompt,
    cache_creation_input_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cacheWrite5m,
      ephemeral_1h_input_tokens: usage.cacheWrite1h,
    },
    output_tokens: outputTokens(usage),
  };
}

export function toMessagesReply(
  answer: LlmAnswer,
  usage: Usage,
  head: { readonly id: string; readonly model: string },
): Record<string, unknown> {
  if (answer.whole?.dialect === 'messages') return asWritten(answer.whole.body, answer, usage, head);
  return {
    id: head.id,
    type: 'message',
    role: 'assistant',
    model: head.model,
    content: answer.content.flatMap(block),
    stop_reason: messagesStopReason(answer.stop ?? 'stop'),
    stop_sequence: answer.stopSequence ?? null,
    usage: toMessagesUsage(usage),
  };
}

/** The vendor's reply of this very format: all of it, but for what the platform names, counts and packs itself. */
function asWritten(
  body: Readonly<Record<string, unknown>>,
  answer: LlmAnswer,
  usage: Usage,
  { id, model }: { readonly id: string; readonly model: string },
): Record<string, unknown> {
  const origin = answer.content.find((part) => part.origin !== undefined)?.origin;
  const content = Array.isArray(body['content']) ? body['content'] : [];
  const raw = isRecord(body['usage']) ? body['usage'] : {};
  return {
    ...body,
    id,
    model,
    content: content.map((each: unknown) => (isRecord(each) ? sealed(each, origin) : each)),
    usage: { ...raw, ...toMessagesUsage(usage) },
  };
}

function sealed(
  each: Readonly<Record<string, unknown>>,
  origin: Origin | undefined,
): Readonly<Record<string, unknown>> {
  const field = each['type'] === 'thinking' ? 'signature' : 'data';
  const secret = each[field];
  if (each['type'] !== 'thinking' && each['type'] !== 'redacted_thinking') return each;
  return { ...each, [field]: packed(typeof secret === 'string' ? secret : undefined, origin) };
}

function block(part: AssistantPart): Record<string, unknown>[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ type: 'text', text: part.text }];
    case 'thinking':
      return [{ type: 'thinking', thinking: part.text, signature: packed(part.signature, part.origin) }];
    case 'redacted_thinking':
      return [{ type: 'redacted_thinking', data: packed(part.data, part.origin) }];
    case 'tool_call': {
      const { id, name } = part;
      return [{ type: 'tool_use', id, name, input: argumentsObject(part.arguments) }];
    }
  }
}

function packed(signature: string | undefined, origin: Origin | undefined): string {
  return signature === undefined || origin === undefined ? '' : packSignature(signature, origin);
}
