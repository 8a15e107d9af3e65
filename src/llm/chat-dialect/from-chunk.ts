import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { ReplyItem } from '../contract.js';
import { integer, isRecord, list, parseReply, text, type Loose } from '../reply-json.js';
import { TooLargeError, VendorError } from '../vendor-error.js';
import { TextEnvelope } from '../text-envelope.js';
import type { SseEvent, StreamReader } from '../vendor.js';
import type { ChatDialect, ExtraReader } from './dialect.js';
import { chatExtra } from './extra.js';
import { mapChatErrorObject } from './map-error.js';
import { readContent } from './read-content.js';
import { withServiceTier } from './usage.js';
import { chatStopReason } from './map-stop-reason.js';

/** More than any agent needs of one answer. */
export const toolCallsMax = 256;

type Delta = Loose<ChatCompletionChunk.Choice.Delta>;
type CallFragment = Loose<ChatCompletionChunk.Choice.Delta.ToolCall>;

interface OpenCall {
  readonly index: number;
  readonly id: string;
}

/**
 * Reads one streamed reply. Tool calls come in fragments that name their call by an index, only the first with id and
 * name, and fragments of several calls interleave; imitators leave the index out or reuse it with another id.
 */
export class ChatStreamReader implements StreamReader {
  readonly #dialect: ChatDialect;
  readonly #readExtra: ExtraReader | undefined;
  readonly #calls = new Map<number, OpenCall>();
  #callCount = 0;
  #lastVendorIndex = -1;
  readonly #envelope = new TextEnvelope('content');
  #started = false;
  #finished = false;
  #refused = false;
  #done = false;

  constructor(dialect: ChatDialect) {
    this.#dialect = dialect;
    this.#readExtra = dialect.extraReader?.();
  }

  get done(): boolean {
    return this.#done;
  }

  read(event: SseEvent, out: ReplyItem[]): void {
    if (event.data === '[DONE]') {
      this.#done = true;
      return;
    }
    const next = this.#envelope.open(event.data);
    if (next !== undefined) {
      if (next !== '') out.push({ type: 'content', text: next });
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
      out.push(this.#nonsense(`a chunk that is not a JSON object: ${event.data.slice(0, 100)}`));
      return;
    }
    const chunk: Loose<ChatCompletionChunk> = raw;
    const first = !this.#started;
    this.#start(chunk, out);
    const failed = raw['error'] !== undefined && raw['error'] !== null;
    const choice = list(chunk.choices).find((each) => (integer(each.index) ?? 0) === 0);
    if (choice !== undefined) {
      const extra = chatExtra(raw, choice, first);
      if (extra !== undefined) out.push(extra);
      if (isRecord(choice.delta)) this.#readDelta(choice.delta, out);
      // Some imitators send an empty reason in each chunk: it is none. One beside an error is not a proper end.
      const finish = text(choice.finish_reason) ?? '';
      if (finish !== '' && !failed) this.#finish(finish, out);
    }
    if (isRecord(raw['usage'])) {
      out.push({ type: 'usage', usage: withServiceTier(this.#dialect.toUsage(raw['usage']), raw) });
    }
    if (failed) {
      out.push({ type: 'failure', error: mapChatErrorObject(this.#dialect.vendor, raw['error']) });
    } else if (raw['choices'] === undefined && raw['usage'] === undefined) {
      out.push({ type: 'unknown', raw });
    }
  }

  end(out: ReplyItem[]): void {
    if (this.#finished) return;
    if (this.#done && this.#started) {
      // The vendor ended properly without a finish reason.
      this.#finish('', out);
      return;
    }
    const error = new VendorError('transport', 'the stream ended before the answer was complete', {
      vendor: this.#dialect.vendor,
    });
    out.push({ type: 'failure', error });
  }

  #start(chunk: Loose<ChatCompletionChunk>, out: ReplyItem[]): void {
    if (this.#started || chunk.choices === undefined) return;
    this.#started = true;
    out.push({ type: 'start', id: text(chunk.id), model: text(chunk.model) });
  }

  #readDelta(delta: Delta & Readonly<Record<string, unknown>>, out: ReplyItem[]): void {
    this.#readExtra?.(delta, out);
    readContent(delta.content, out);
    const refusal = text(delta.refusal);
    if (refusal !== undefined && refusal !== '') {
      this.#refused = true;
      out.push({ type: 'content', text: refusal, refusal: true });
    }
    for (const fragment of list(delta.tool_calls)) this.#readCall(fragment, out);
  }

  #readCall(fragment: CallFragment, out: ReplyItem[]): void {
    const id = text(fragment.id) ?? '';
    const name = text(fragment.function?.name) ?? '';
    const call = this.#open(this.#vendorIndex(fragment, id), id, name, out);
    if (call === undefined) return;
    const written = fragment.function?.arguments;
    // Imitators send the arguments as an object; the canonical form is text.
    const piece = isRecord(written) ? JSON.stringify(written) : text(written);
    if (piece !== undefined && piece !== '') {
      out.push({ type: 'tool_call_arguments', index: call.index, text: piece });
    }
  }

  #vendorIndex(fragment: CallFragment, id: string): number {
    const given = integer(fragment.index);
    if (given !== undefined) return given;
    return id === '' ? Math.max(0, this.#lastVendorIndex) : this.#lastVendorIndex + 1;
  }

  #open(vendorIndex: number, id: string, name: string, out: ReplyItem[]): OpenCall | undefined {
    this.#lastVendorIndex = vendorIndex;
    const known = this.#calls.get(vendorIndex);
    if (known !== undefined && (id === '' || id === known.id || name === '')) return known;
    if (this.#callCount === toolCallsMax) {
      throw new TooLargeError(`more than ${toolCallsMax} tool calls in one answer`);
    }
    const index = this.#callCount++;
    const opened = { index, id };
    this.#calls.set(vendorIndex, opened);
    out.push({ type: 'tool_call_start', index, id, name });
    return opened;
  }

  #finish(raw: string, out: ReplyItem[]): void {
    if (this.#finished) return;
    this.#finished = true;
    for (let index = 0; index < this.#callCount; index += 1) out.push({ type: 'tool_call_end', index });
    const saw = { toolCall: this.#callCount > 0, refusal: this.#refused };
    out.push({ type: 'stop', reason: chatStopReason(raw === '' ? 'stop' : raw, saw), raw });
  }

  #nonsense(what: string): ReplyItem {
    return {
      type: 'failure',
      error: new VendorError('nonsense', `the vendor sent ${what}`, { vendor: this.#dialect.vendor }),
    };
  }
}
