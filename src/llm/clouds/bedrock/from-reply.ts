import type { ReplyItem } from '../../contract.js';
import { isRecord, text } from '../../reply-json.js';
import { VendorError } from '../../vendor-error.js';
import { bedrockStopReason } from './map-stop-reason.js';
import { bedrockUsage } from './usage.js';

type Fields = Readonly<Record<string, unknown>>;

/** Converts a whole reply of Converse to the items of a stream. */
export function fromConverseReply(vendor: string, body: unknown, out: ReplyItem[]): void {
  const output = isRecord(body) && isRecord(body['output']) ? body['output'] : {};
  const message = output['message'];
  // Before the answer: what the vendor bills is known even if that cannot be read.
  if (isRecord(body) && isRecord(body['usage']))
    out.push({ type: 'usage', usage: bedrockUsage(body['usage']) });
  if (!isRecord(body) || !isRecord(message) || !Array.isArray(message['content'])) {
    const error = new VendorError('nonsense', 'the vendor sent a reply without a message', { vendor });
    out.push({ type: 'failure', error });
    return;
  }
  out.push({ type: 'start', id: undefined, model: undefined });
  let tools = 0;
  for (const block of message['content'].filter(isRecord)) {
    if (isRecord(block['toolUse'])) pushTool(tools++, block['toolUse'], out);
    else if (isRecord(block['reasoningContent'])) pushThought(block['reasoningContent'], out);
    else if (typeof block['text'] === 'string') out.push({ type: 'content', text: block['text'] });
    else out.push({ type: 'unknown', raw: block });
  }
  const raw = text(body['stopReason']) ?? 'end_turn';
  out.push({ type: 'stop', reason: bedrockStopReason(raw), raw });
}

function pushTool(index: number, tool: Fields, out: ReplyItem[]): void {
  const id = text(tool['toolUseId']) ?? '';
  out.push({ type: 'tool_call_start', index, id, name: text(tool['name']) ?? '' });
  out.push({ type: 'tool_call_arguments', index, text: JSON.stringify(tool['input'] ?? {}) });
  out.push({ type: 'tool_call_end', index });
}

function pushThought(thought: Fields, out: ReplyItem[]): void {
  const redacted = text(thought['redactedContent']);
  if (redacted !== undefined) out.push({ type: 'redacted_thinking', data: redacted });
  const written = thought['reasoningText'];
  if (!isRecord(written)) return;
  out.push({ type: 'thinking', text: text(written['text']) ?? '' });
  out.push({ type: 'thinking_end', signature: text(written['signature']) });
}
