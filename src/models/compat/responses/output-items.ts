/** Builds the output items of a response from the events of an answer, and tells each step. */
import type {
  ResponseOutputRefusal,
  ResponseOutputText,
  ResponseReasoningItem,
} from 'openai/resources/responses/responses';
import { type LlmEvent, type Origin, packSignature } from '../../../llm/index.js';
import { redactedMark } from './input-items.js';
import type { OutputItem } from './response-object.js';

/** Tells a step of an item. */
export type Tell = (type: string, fields: Readonly<Record<string, unknown>>) => void;

type MessagePart = ResponseOutputText | ResponseOutputRefusal;

interface OpenItem {
  readonly at: number;
  readonly id: string;
  text: string;
}
/** `text` is that of the part that is open. */
interface OpenMessage extends OpenItem {
  readonly parts: MessagePart[];
  kind: MessagePart['type'] | undefined;
}
interface OpenCall extends OpenItem {
  readonly callId: string;
  readonly name: string;
}
interface OpenThought extends OpenItem {
  signature: string | undefined;
  isTold: boolean;
}

/**
 * Text and thoughts close when another item begins. Calls stay open until their end, since other vendors interleave them.
 */
export class OutputItems {
  readonly #ids: string;
  readonly #origin: Origin;
  readonly #tell: Tell;
  /** Whether signed thoughts leave, for callers that keep the conversation themselves. */
  readonly #sendsSignatures: boolean;
  /** In the order of their beginning; an item is there once it is closed. */
  readonly #items: (OutputItem | undefined)[] = [];
  /** The signed thoughts, whether the signatures leave or not. */
  readonly #signed: ResponseReasoningItem[] = [];
  readonly #calls = new Map<number, OpenCall>();
  #message: OpenMessage | undefined;
  #thought: OpenThought | undefined;

  constructor(ids: string, origin: Origin, sendsSignatures: boolean, tell: Tell) {
    this.#ids = ids;
    this.#origin = origin;
    this.#sendsSignatures = sendsSignatures;
    this.#tell = tell;
  }

  /** The closed items. */
  get closed(): readonly OutputItem[] {
    return this.#items.filter((item) => item !== undefined);
  }

  /** The closed items with every signature, for a later call that only names them. */
  get kept(): readonly OutputItem[] {
    return this.closed.map((item) => this.#signed.find(({ id }) => id === item.id) ?? item);
  }

  add(event: LlmEvent): void {
    switch (event.type) {
      case 'content':
        return this.#addText(event.text, event.refusal === true ? 'refusal' : 'output_text');
      case 'thinking':
        return this.#addThought(event.text);
      case 'thinking_end':
        return this.#endThought(event.signature);
      case 'redacted_thinking':
        this.#startThought().signature = redactedMark + event.data;
        return this.#closeThought();
      case 'tool_call_start':
        return this.#startCall(event.index, event.id, event.name);
      case 'tool_call_arguments':
        return this.#addArguments(event.index, event.text);
      case 'tool_call_end':
        return this.#closeCall(event.index);
      case 'stop':
        return this.#close();
      default:
    }
  }

  #begin(prefix: 'msg' | 'rs' | 'fc'): OpenItem {
    const at = this.#items.length;
    this.#items.push(undefined);
    return { at, id: `${prefix}_${this.#ids}${at.toString(16).padStart(4, '0')}`, text: '' };
  }

  #added({ at }: OpenItem, item: OutputItem): void {
    this.#tell('response.output_item.added', { output_index: at, item });
  }

  #done({ at }: OpenItem, item: OutputItem): void {
    this.#items[at] = item;
    this.#tell('response.output_item.done', { output_index: at, item });
  }

  #addText(text: string, kind: MessagePart['type']): void {
    if (text === '') return;
    const message = this.#message ?? this.#startMessage();
    if (message.kind !== kind) this.#startPart(message, kind);
    message.text += text;
    const delta = kind === 'refusal' ? { delta: text } : { delta: text, logprobs: [] };
    this.#tell(`response.${kind}.delta`, { ...placeOf(message), ...delta });
  }

  #startMessage(): OpenMessage {
    this.#closeOpen();
    const message: OpenMessage = { ...this.#begin('msg'), parts: [], kind: undefined };
    this.#message = message;
    this.#added(message, {
      id: message.id,
      type: 'message',
      status: 'in_progress',
      content: [],
      role: 'assistant',
    });
    return message;
  }

  #startPart(message: OpenMessage, kind: MessagePart['type']): void {
    this.#closePart(message);
    message.kind = kind;
    this.#tell('response.content_part.added', { ...placeOf(message), part: partOf(kind, '') });
  }

  #closePart(message: OpenMessage): void {
    const { kind, text } = message;
    if (kind === undefined) return;
    const place = placeOf(message);
    const whole = kind === 'refusal' ? { refusal: text } : { text, logprobs: [] };
    const part = partOf(kind, text);
    this.#tell(`response.${kind}.done`, { ...place, ...whole });
    this.#tell('response.content_part.done', { ...place, part });
    message.parts.push(part);
    message.text = '';
  }

  #closeMessage(): void {
    const message = this.#message;
    if (message === undefined) return;
    this.#message = undefined;
    this.#closePart(message);
    const { id, parts: content } = message;
    this.#done(message, { id, type: 'message', status: 'completed', content, role: 'assistant' });
  }

  #addThought(text: string): void {
    if (text === '') return;
    const thought = this.#thought ?? this.#startThought();
    const place = { item_id: thought.id, output_index: thought.at, summary_index: 0 };
    if (!thought.isTold) {
      thought.isTold = true;
      const part = { type: 'summary_text', text: '' };
      this.#tell('response.reasoning_summary_part.added', { ...place, part });
    }
    thought.text += text;
    this.#tell('response.reasoning_summary_text.delta', { ...place, delta: text });
  }

  #startThought(): OpenThought {
    this.#closeOpen();
    const thought = { ...this.#begin('rs'), signature: undefined, isTold: false };
    this.#thought = thought;
    this.#added(thought, { id: thought.id, type: 'reasoning', summary: [] });
    return thought;
  }

  #endThought(signature: string | undefined): void {
    if (signature !== undefined) (this.#thought ?? this.#startThought()).signature = signature;
    this.#closeThought();
  }

  #closeThought(): void {
    const thought = this.#thought;
    if (thought === undefined) return;
    this.#thought = undefined;
    const { id, at, text, signature } = thought;
    const summary = text === '' ? [] : [{ type: 'summary_text' as const, text }];
    if (thought.isTold) {
      const place = { item_id: id, output_index: at, summary_index: 0 };
      this.#tell('response.reasoning_summary_text.done', { ...place, text });
      this.#tell('response.reasoning_summary_part.done', { ...place, part: summary[0] });
    }
    const item: ResponseReasoningItem = { id, type: 'reasoning', summary };
    if (signature === undefined) return this.#done(thought, item);
    const signed = { ...item, encrypted_content: packSignature(signature, this.#origin) };
    this.#signed.push(signed);
    this.#done(thought, this.#sendsSignatures ? signed : item);
  }

  #startCall(index: number, callId: string, name: string): void {
    this.#closeOpen();
    const call = { ...this.#begin('fc'), callId, name };
    this.#calls.set(index, call);
    this.#added(call, callItem(call, 'in_progress'));
  }

  #addArguments(index: number, text: string): void {
    const call = this.#calls.get(index);
    if (call === undefined || text === '') return;
    call.text += text;
    const place = { item_id: call.id, output_index: call.at };
    this.#tell('response.function_call_arguments.delta', { ...place, delta: text });
  }

  #closeCall(index: number): void {
    const call = this.#calls.get(index);
    if (call === undefined) return;
    this.#calls.delete(index);
    const { id, at, text, name } = call;
    const place = { item_id: id, output_index: at };
    this.#tell('response.function_call_arguments.done', { ...place, arguments: text, name });
    this.#done(call, callItem(call, 'completed'));
  }

  /** Text or thoughts that are open. */
  #closeOpen(): void {
    this.#closeMessage();
    this.#closeThought();
  }

  #close(): void {
    this.#closeOpen();
    for (const index of this.#calls.keys()) this.#closeCall(index);
  }
}

/** Of the part that is open. */
function placeOf({ id, at, parts }: OpenMessage) {
  return { item_id: id, output_index: at, content_index: parts.length };
}

function partOf(kind: MessagePart['type'], text: string): MessagePart {
  if (kind === 'refusal') return { type: 'refusal', refusal: text };
  return { type: 'output_text', annotations: [], logprobs: [], text };
}

function callItem({ id, callId, name, text }: OpenCall, status: 'in_progress' | 'completed'): OutputItem {
  return { id, type: 'function_call', status, arguments: text, call_id: callId, name };
}
