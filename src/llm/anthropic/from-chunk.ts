import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import type { ReplyItem } from '../contract.js';
import { integer, isRecord, parseReply, text, type Loose } from '../reply-json.js';
import { TooLargeError, VendorError } from '../vendor-error.js';
import { TextEnvelope } from '../text-envelope.js';
import type { SseEvent, StreamReader } from '../vendor.js';
import { mapAnthropicErrorEvent } from './map-error.js';
import { anthropicStopReason } from './map-stop-reason.js';
import { anthropicUsage, mergeAnthropicUsage } from './usage.js';

type StreamEvent = Loose<RawMessageStreamEvent>;
type Block =
  | { readonly kind: 'tool'; readonly index: number; wrote: boolean }
  | { readonly kind: 'thinking'; signature: string }
  | { readonly kind: 'text' }
  | { readonly kind: 'redacted' }
  | { readonly kind: 'unknown' };

const blocksMax = 4096;

/** Reads one streamed reply: numbered blocks that open, grow and close. Block numbers are not tool numbers. */
export class AnthropicStreamReader implements StreamReader {
  readonly #blocks = new Map<number, Block>();
  #usage: Readonly<Record<string, unknown>> = {};
  readonly #envelope = new TextEnvelope('text');
  #toolCount = 0;
  #blockCount = 0;
  #stopped = false;
  #done = false;

  get done(): boolean {
    return this.#done;
  }

  read(event: SseEvent, out: ReplyItem[]): void {
    const next = this.#envelope.open(event.data);
    if (next !== undefined) {
      out.push({ type: 'content', text: next });
      return;
    }
    const before = out.length;
    this.#readWhole(event, out);
    const news = out[before];
    if (out.length === before + 1 && news?.type === 'content') {
      this.#envelope.learn(event.data, news.text);
    }
  }

  #readWhole(event: SseEvent, out: ReplyItem[]): void {
    const raw = parseReply(event.data);
    if (!isRecord(raw)) {
      out.push(nonsense(`an event that is not a JSON object: ${event.data.slice(0, 100)}`));
      return;
    }
    const message: StreamEvent = raw;
    switch (message.type) {
      case 'message_start':
        out.push({ type: 'start', id: text(message.message?.id), model: text(message.message?.model) });
        this.#readUsage(message.message?.usage, out);
        return;
      case 'content_block_start':
        this.#openBlock(message, out);
        return;
      case 'content_block_delta':
        this.#growBlock(message, out);
        return;
      case 'content_block_stop':
        this.#closeBlock(integer(message.index) ?? -1, out);
        return;
      case 'message_delta':
        this.#readUsage(message.usage, out);
        this.#readStop(text(message.delta?.stop_reason), out, text(message.delta?.stop_sequence));
        return;
      case 'message_stop':
        this.#done = true;
        // Some imitators send no stop reason; the answer is complete nevertheless.
        if (!this.#stopped) this.#readStop('end_turn', out);
        return;
      case 'ping':
        return;
      case 'error':
        out.push({ type: 'failure', error: mapAnthropicErrorEvent(raw) });
        return;
      default:
        out.push({ type: 'unknown', raw });
    }
  }

  end(out: ReplyItem[]): void {
    if (this.#stopped) return;
    const error = new VendorError('transport', 'the stream ended before the answer was complete', {
      vendor: 'anthropic',
    });
    out.push({ type: 'failure', error });
  }

  #readUsage(raw: unknown, out: ReplyItem[]): void {
    if (!isRecord(raw)) return;
    this.#usage = mergeAnthropicUsage(this.#usage, raw);
    out.push({ type: 'usage', usage: anthropicUsage(this.#usage) });
  }

  #readStop(raw: string | undefined, out: ReplyItem[], sequence?: string): void {
    if (raw === undefined || this.#stopped) return;
    for (const index of this.#blocks.keys()) this.#closeBlock(index, out);
    this.#stopped = true;
    const reason = anthropicStopReason(raw);
    out.push({ type: 'stop', reason, raw, ...(sequence !== undefined && { sequence }) });
  }

  #openBlock(message: StreamEvent, out: ReplyItem[]): void {
    const block = message.content_block;
    if (++this.#blockCount > blocksMax)
      throw new TooLargeError(`more than ${blocksMax} blocks in one answer`);
    const opened = this.#blockOf(block, out);
    if (opened.kind === 'unknown') out.push({ type: 'unknown', raw: message });
    this.#blocks.set(integer(message.index) ?? this.#blockCount - 1, opened);
  }

  #blockOf(block: StreamEvent['content_block'], out: ReplyItem[]): Block {
    switch (block?.type) {
      case 'text': {
        const opening = text(block.text) ?? '';
        if (opening !== '') out.push({ type: 'content', text: opening });
        return { kind: 'text' };
      }
      case 'thinking': {
        const opening = text(block.thinking) ?? '';
        if (opening !== '') out.push({ type: 'thinking', text: opening });
        return { kind: 'thinking', signature: text(block.signature) ?? '' };
      }
      case 'redacted_thinking':
        out.push({ type: 'redacted_thinking', data: text(block.data) ?? '' });
        return { kind: 'redacted' };
      case 'tool_use': {
        const index = this.#toolCount++;
        const id = text(block.id) ?? '';
        out.push({ type: 'tool_call_start', index, id, name: text(block.name) ?? '' });
        const whole = isRecord(block.input) && Object.keys(block.input).length > 0;
        if (whole) {
          out.push({ type: 'tool_call_arguments', index, text: JSON.stringify(block.input) });
        }
        return { kind: 'tool', index, wrote: whole };
      }
      default:
        return { kind: 'unknown' };
    }
  }

  #growBlock(message: StreamEvent, out: ReplyItem[]): void {
    const block = this.#blocks.get(integer(message.index) ?? -1);
    const delta = message.delta;
    switch (delta?.type) {
      case 'text_delta':
        out.push({ type: 'content', text: text(delta.text) ?? '' });
        return;
      case 'thinking_delta':
        out.push({ type: 'thinking', text: text(delta.thinking) ?? '' });
        return;
      case 'signature_delta':
        if (block?.kind === 'thinking') block.signature += text(delta.signature) ?? '';
        return;
      case 'input_json_delta': {
        const piece = text(delta.partial_json) ?? '';
        if (block?.kind === 'unknown') out.push({ type: 'unknown', raw: message });
        if (block?.kind !== 'tool' || piece === '') return;
        block.wrote = true;
        out.push({ type: 'tool_call_arguments', index: block.index, text: piece });
        return;
      }
      default:
        out.push({ type: 'unknown', raw: message });
    }
  }

  #closeBlock(blockIndex: number, out: ReplyItem[]): void {
    const block = this.#blocks.get(blockIndex);
    this.#blocks.delete(blockIndex);
    if (block?.kind === 'tool') {
      // A call of a tool without parameters has no argument pieces.
      if (!block.wrote) out.push({ type: 'tool_call_arguments', index: block.index, text: '{}' });
      out.push({ type: 'tool_call_end', index: block.index });
    } else if (block?.kind === 'text') {
      out.push({ type: 'content_end' });
    } else if (block?.kind === 'unknown') {
      out.push({ type: 'unknown', raw: { type: 'content_block_stop', index: blockIndex } });
    } else if (block?.kind === 'thinking') {
      out.push({
        type: 'thinking_end',
        signature: block.signature === '' ? undefined : block.signature,
      });
    }
  }
}

function nonsense(what: string): ReplyItem {
  return {
    type: 'failure',
    error: new VendorError('nonsense', `the vendor sent ${what}`, { vendor: 'anthropic' }),
  };
}
