import { messagesStopReason, toMessagesUsage } from './to-reply.js';
import {
  isRecord,
  type LlmEvent,
  type Origin,
  packSignature,
  zeroUsage,
  type Usage,
} from '../../../llm/index.js';

/**
 * Writes an answer as the event stream of Anthropic's API: numbered blocks that open, grow and close. Text and thoughts
 * close when another block begins. Tool calls stay open until their end, since other vendors interleave them. The cost
 * of the prompt is known only at the end and comes in the last totals.
 */
export class MessagesFrames {
  readonly #head: { readonly id: string; readonly model: string };
  readonly #origin: Origin;
  readonly #callBlocks = new Map<number, number>();
  /** The vendor's numbers of blocks that are passed on. */
  readonly #foreign = new Map<number, number>();
  #begun = false;
  #blocks = 0;
  #open: { readonly type: 'text' | 'thinking'; readonly index: number } | undefined;
  #usage: Usage = zeroUsage;

  constructor(head: { readonly id: string; readonly model: string }, origin: Origin) {
    this.#head = head;
    this.#origin = origin;
  }

  write(events: readonly LlmEvent[]): string {
    let text = this.#begin();
    for (const each of events) text += this.#frame(each);
    return text;
  }

  /** Called after the closing events. */
  end(): string {
    return event('message_stop', {});
  }

  #begin(): string {
    if (this.#begun) return '';
    this.#begun = true;
    const { id, model } = this.#head;
    const message = {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: toMessagesUsage(zeroUsage),
    };
    return event('message_start', { message });
  }

  #frame(each: LlmEvent): string {
    switch (each.type) {
      case 'content':
        return this.#into('text') + this.#delta(this.#blockIndex(), { type: 'text_delta', text: each.text });
      case 'thinking':
        return (
          this.#into('thinking') +
          this.#delta(this.#blockIndex(), { type: 'thinking_delta', thinking: each.text })
        );
      case 'content_end':
        return this.#open?.type === 'text' ? this.#close() : '';
      case 'thinking_end':
        return this.#endThought(each.signature);
      case 'redacted_thinking': {
        const data = packSignature(each.data, this.#origin);
        const index = this.#blocks;
        return this.#close() + this.#start({ type: 'redacted_thinking', data }) + stop(index);
      }
      case 'tool_call_start': {
        const closed = this.#close();
        this.#callBlocks.set(each.index, this.#blocks);
        return closed + this.#start({ type: 'tool_use', id: each.id, name: each.name, input: {} });
      }
      case 'tool_call_arguments':
        return this.#delta(this.#callBlocks.get(each.index) ?? 0, {
          type: 'input_json_delta',
          partial_json: each.text,
        });
      case 'tool_call_end':
        return stop(this.#callBlocks.get(each.index) ?? 0);
      case 'usage':
        this.#usage = each.usage;
        return '';
      case 'stop': {
        const delta = {
          stop_reason: messagesStopReason(each.reason),
          stop_sequence: each.sequence ?? null,
        };
        return this.#close() + event('message_delta', { delta, usage: toMessagesUsage(this.#usage) });
      }
      case 'unknown':
        return isRecord(each.raw) && this.#origin.vendor === 'anthropic' ? this.#passOn(each.raw) : '';
      default:
        return '';
    }
  }

  /** Blocks of the vendor's own tools and citations, which the platform's form does not hold. */
  #passOn(raw: Readonly<Record<string, unknown>>): string {
    const place = typeof raw['index'] === 'number' ? raw['index'] : -1;
    switch (raw['type']) {
      case 'content_block_start': {
        if (!isRecord(raw['content_block'])) return '';
        const closed = this.#close();
        this.#foreign.set(place, this.#blocks);
        return closed + this.#start(raw['content_block']);
      }
      case 'content_block_delta': {
        if (!isRecord(raw['delta'])) return '';
        const foreign = this.#foreign.get(place);
        if (foreign !== undefined) return this.#delta(foreign, raw['delta']);
        // A citation comes before the text that it belongs to.
        const opened = raw['delta']['type'] === 'citations_delta' ? this.#into('text') : '';
        return this.#open === undefined ? '' : opened + this.#delta(this.#open.index, raw['delta']);
      }
      case 'content_block_stop': {
        const block = this.#foreign.get(place);
        this.#foreign.delete(place);
        return block === undefined ? '' : stop(block);
      }
      default:
        return '';
    }
  }

  #into(type: 'text' | 'thinking'): string {
    if (this.#open?.type === type) return '';
    const closed = this.#close();
    this.#open = { type, index: this.#blocks };
    const empty = type === 'text' ? { text: '' } : { thinking: '', signature: '' };
    return closed + this.#start({ type, ...empty });
  }

  #endThought(signature: string | undefined): string {
    if (signature === undefined) return this.#open?.type === 'thinking' ? this.#close() : '';
    const opened = this.#into('thinking');
    const packed = packSignature(signature, this.#origin);
    return (
      opened + this.#delta(this.#blockIndex(), { type: 'signature_delta', signature: packed }) + this.#close()
    );
  }

  #blockIndex(): number {
    return this.#open?.index ?? 0;
  }

  #close(): string {
    if (this.#open === undefined) return '';
    const { index } = this.#open;
    this.#open = undefined;
    return stop(index);
  }

  #start(content_block: Readonly<Record<string, unknown>>): string {
    const index = this.#blocks++;
    return event('content_block_start', { index, content_block });
  }

  #delta(index: number, delta: Readonly<Record<string, unknown>>): string {
    return event('content_block_delta', { index, delta });
  }
}

function stop(index: number): string {
  return event('content_block_stop', { index });
}

function event(type: string, data: Readonly<Record<string, unknown>>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}
