import type { ReplyItem } from '../../contract.js';
import { integer, isRecord, parseReply, text } from '../../reply-json.js';
import type { SseEvent, StreamReader } from '../../vendor.js';
import { TooLargeError, VendorError } from '../../vendor-error.js';
import { isBedrockException, mapBedrockException } from './map-error.js';
import { bedrockStopReason } from './map-stop-reason.js';
import { bedrockUsage } from './usage.js';

type Fields = Readonly<Record<string, unknown>>;
type Block =
  | { readonly kind: 'tool'; readonly index: number; wrote: boolean }
  | { readonly kind: 'thinking'; signature: string };

const blocksMax = 4096;

/**
 * Reads one streamed reply of Converse: numbered blocks that grow and close; a block of text or thought need not be
 * opened. The usage comes after the stop reason, as the last event.
 */
export class ConverseStreamReader implements StreamReader {
  readonly #vendor: string;
  readonly #blocks = new Map<number, Block>();
  #toolCount = 0;
  #stop: string | undefined;
  #isComplete = false;

  constructor(vendor: string) {
    this.#vendor = vendor;
  }

  get done(): boolean {
    return this.#isComplete;
  }

  read({ event, data }: SseEvent, out: ReplyItem[]): void {
    if (isBedrockException(event)) {
      out.push({ type: 'failure', error: mapBedrockException(this.#vendor, event, data) });
      return;
    }
    const body = parseReply(data);
    if (!isRecord(body)) {
      out.push(this.#nonsense('an event that is not a JSON object'));
      return;
    }
    this.#readEvent(event, body, out);
  }

  end(out: ReplyItem[]): void {
    if (this.#isComplete && this.#stop !== undefined) return;
    if (this.#stop !== undefined) {
      out.push({ type: 'stop', reason: bedrockStopReason(this.#stop), raw: this.#stop });
      return;
    }
    const problem = 'the stream ended before the answer was complete';
    out.push({ type: 'failure', error: new VendorError('transport', problem, { vendor: this.#vendor }) });
  }

  #readEvent(event: string, body: Fields, out: ReplyItem[]): void {
    switch (event) {
      case 'messageStart':
        out.push({ type: 'start', id: undefined, model: undefined });
        return;
      case 'contentBlockStart':
        this.#openBlock(body, out);
        return;
      case 'contentBlockDelta':
        this.#growBlock(body, out);
        return;
      case 'contentBlockStop':
        this.#closeBlock(integer(body['contentBlockIndex']) ?? -1, out);
        return;
      case 'messageStop':
        for (const index of this.#blocks.keys()) this.#closeBlock(index, out);
        this.#stop = text(body['stopReason']) ?? 'end_turn';
        return;
      case 'metadata':
        this.#readMetadata(body, out);
        return;
      default:
        out.push({ type: 'unknown', raw: body });
    }
  }

  #readMetadata(body: Fields, out: ReplyItem[]): void {
    out.push({ type: 'usage', usage: bedrockUsage(body['usage']) });
    if (this.#stop === undefined) return;
    out.push({ type: 'stop', reason: bedrockStopReason(this.#stop), raw: this.#stop });
    this.#isComplete = true;
  }

  #openBlock(body: Fields, out: ReplyItem[]): void {
    const start = isRecord(body['start']) ? body['start'] : {};
    const tool = start['toolUse'];
    if (!isRecord(tool)) {
      out.push({ type: 'unknown', raw: body });
      return;
    }
    const index = this.#toolCount++;
    this.#add(integer(body['contentBlockIndex']) ?? index, { kind: 'tool', index, wrote: false });
    const id = text(tool['toolUseId']) ?? '';
    out.push({ type: 'tool_call_start', index, id, name: text(tool['name']) ?? '' });
  }

  #growBlock(body: Fields, out: ReplyItem[]): void {
    const delta = isRecord(body['delta']) ? body['delta'] : {};
    const written = text(delta['text']);
    if (written !== undefined) {
      out.push({ type: 'content', text: written });
      return;
    }
    const at = integer(body['contentBlockIndex']) ?? -1;
    if (isRecord(delta['toolUse'])) this.#growTool(at, text(delta['toolUse']['input']) ?? '', out);
    else if (isRecord(delta['reasoningContent'])) this.#growThought(at, delta['reasoningContent'], out);
    else out.push({ type: 'unknown', raw: body });
  }

  #growTool(at: number, input: string, out: ReplyItem[]): void {
    const block = this.#blocks.get(at);
    if (block?.kind !== 'tool') {
      out.push(this.#nonsense('arguments for a tool call that it did not begin'));
      return;
    }
    if (input === '') return;
    block.wrote = true;
    out.push({ type: 'tool_call_arguments', index: block.index, text: input });
  }

  #growThought(at: number, thought: Fields, out: ReplyItem[]): void {
    const redacted = text(thought['redactedContent']);
    if (redacted !== undefined) {
      out.push({ type: 'redacted_thinking', data: redacted });
      return;
    }
    let block = this.#blocks.get(at);
    if (block?.kind !== 'thinking') {
      block = { kind: 'thinking', signature: '' };
      this.#add(at, block);
    }
    block.signature += text(thought['signature']) ?? '';
    const written = text(thought['text']) ?? '';
    if (written !== '') out.push({ type: 'thinking', text: written });
  }

  #closeBlock(at: number, out: ReplyItem[]): void {
    const block = this.#blocks.get(at);
    this.#blocks.delete(at);
    if (block?.kind === 'tool') {
      // A call of a tool without parameters has no argument pieces, or empty ones.
      if (!block.wrote) out.push({ type: 'tool_call_arguments', index: block.index, text: '{}' });
      out.push({ type: 'tool_call_end', index: block.index });
    } else if (block !== undefined) {
      out.push({ type: 'thinking_end', signature: block.signature === '' ? undefined : block.signature });
    }
  }

  #add(at: number, block: Block): void {
    if (this.#blocks.size >= blocksMax) throw new TooLargeError(`more than ${blocksMax} open blocks`);
    this.#blocks.set(at, block);
  }

  #nonsense(problem: string): ReplyItem {
    const error = new VendorError('nonsense', `the vendor sent ${problem}`, { vendor: this.#vendor });
    return { type: 'failure', error };
  }
}
