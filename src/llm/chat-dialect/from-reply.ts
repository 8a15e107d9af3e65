import type { ChatCompletion } from 'openai/resources/chat/completions';
import type { ReplyItem } from '../contract.js';
import { integer, isRecord, list, text, type Loose } from '../reply-json.js';
import { VendorError } from '../vendor-error.js';
import type { ChatDialect } from './dialect.js';
import { toolCallsMax } from './from-chunk.js';
import { mapChatErrorObject } from './map-error.js';
import { chatStopReason } from './map-stop-reason.js';
import { readContent } from './read-content.js';
import { withServiceTier } from './usage.js';

/** Converts a whole reply to the items of a stream. */
export function fromChatReply(body: unknown, dialect: ChatDialect, out: ReplyItem[]): void {
  const { vendor } = dialect;
  if (!isRecord(body)) {
    out.push(failure(new VendorError('nonsense', 'the reply is not a JSON object', { vendor })));
    return;
  }
  if (body['error'] !== undefined && body['error'] !== null) {
    out.push(failure(mapChatErrorObject(vendor, body['error'])));
    return;
  }
  const reply: Loose<ChatCompletion> = body;
  // Before the answer: what the vendor bills is known even if that cannot be read.
  if (isRecord(body['usage']))
    out.push({ type: 'usage', usage: withServiceTier(dialect.toUsage(body['usage']), body) });
  const choice = list(reply.choices).find((each) => (integer(each.index) ?? 0) === 0);
  if (choice === undefined || !isRecord(choice.message)) {
    out.push(failure(new VendorError('nonsense', 'the reply holds no answer', { vendor })));
    return;
  }
  out.push(
    { type: 'start', id: text(reply.id), model: text(reply.model) },
    { type: 'whole_reply', dialect: 'chat', body },
  );
  const saw = readMessage(choice.message, dialect, out);
  const raw = text(choice.finish_reason) ?? '';
  out.push({ type: 'stop', reason: chatStopReason(raw === '' ? 'stop' : raw, saw), raw });
}

function readMessage(
  message: Loose<ChatCompletion['choices'][number]['message']> & Readonly<Record<string, unknown>>,
  dialect: ChatDialect,
  out: ReplyItem[],
): { toolCall: boolean; refusal: boolean } {
  dialect.extraReader?.()(message, out);
  readContent(message.content, out);
  const refusal = text(message.refusal) ?? '';
  if (refusal !== '') out.push({ type: 'content', text: refusal, refusal: true });
  const calls = list(message.tool_calls);
  if (calls.length > toolCallsMax) {
    const error = new VendorError(
      'too_large',
      `the vendor sent more than ${toolCallsMax} tool calls in one answer`,
      {
        vendor: dialect.vendor,
      },
    );
    out.push(failure(error));
  }
  for (const [index, call] of calls.slice(0, toolCallsMax).entries()) {
    const written = call.function?.arguments;
    out.push(
      {
        type: 'tool_call_start',
        index,
        id: text(call.id) ?? '',
        name: text(call.function?.name) ?? '',
      },
      {
        type: 'tool_call_arguments',
        index,
        text: isRecord(written) ? JSON.stringify(written) : (text(written) ?? ''),
      },
      { type: 'tool_call_end', index },
    );
  }
  return { toolCall: calls.length > 0, refusal: refusal !== '' };
}

function failure(error: VendorError): ReplyItem {
  return { type: 'failure', error };
}
