import type { ContentBlock, Message } from '@anthropic-ai/sdk/resources/messages';
import type { ReplyItem } from '../contract.js';
import { isRecord, list, text, type Loose } from '../reply-json.js';
import { VendorError } from '../vendor-error.js';
import { mapAnthropicErrorEvent } from './map-error.js';
import { anthropicStopReason } from './map-stop-reason.js';
import { anthropicUsage } from './usage.js';

/** Converts a whole reply to the items of a stream. */
export function fromAnthropicReply(body: unknown, out: ReplyItem[]): void {
  if (isRecord(body) && body['type'] === 'error') {
    out.push({ type: 'failure', error: mapAnthropicErrorEvent(body) });
    return;
  }
  // Before the answer: what the vendor bills is known even if that cannot be read.
  if (isRecord(body) && isRecord(body['usage'])) {
    out.push({ type: 'usage', usage: anthropicUsage(body['usage']) });
  }
  if (!isRecord(body) || !Array.isArray(body['content'])) {
    const error = new VendorError('nonsense', 'the reply holds no answer', { vendor: 'anthropic' });
    out.push({ type: 'failure', error });
    return;
  }
  const message: Loose<Message> = body;
  out.push(
    { type: 'start', id: text(message.id), model: text(message.model) },
    { type: 'whole_reply', dialect: 'messages', body },
  );
  let calls = 0;
  for (const block of list(message.content)) calls = readBlock(block, calls, out);
  const raw = text(message.stop_reason) ?? 'end_turn';
  const sequence = text(message.stop_sequence);
  out.push({
    type: 'stop',
    reason: anthropicStopReason(raw),
    raw,
    ...(sequence !== undefined && { sequence }),
  });
}

function readBlock(block: Loose<ContentBlock>, index: number, out: ReplyItem[]): number {
  switch (block.type) {
    case 'text':
      out.push({ type: 'content', text: text(block.text) ?? '' });
      return index;
    case 'thinking':
      out.push(
        { type: 'thinking', text: text(block.thinking) ?? '' },
        { type: 'thinking_end', signature: text(block.signature) },
      );
      return index;
    case 'redacted_thinking':
      out.push({ type: 'redacted_thinking', data: text(block.data) ?? '' });
      return index;
    case 'tool_use':
      out.push(
        {
          type: 'tool_call_start',
          index,
          id: text(block.id) ?? '',
          name: text(block.name) ?? '',
        },
        { type: 'tool_call_arguments', index, text: JSON.stringify(block.input ?? {}) },
        { type: 'tool_call_end', index },
      );
      return index + 1;
    default:
      out.push({ type: 'unknown', raw: block });
      return index;
  }
}
