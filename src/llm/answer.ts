import type { AssistantPart, LlmEvent, Origin, StopReason, ToolCallPart, WireDialect } from './contract.js';
import type { Usage } from './usage.js';

export interface LlmAnswer {
  /** The parts in order, ready to be sent back as an assistant message. */
  readonly content: readonly AssistantPart[];
  readonly text: string;
  readonly toolCalls: readonly ToolCallPart[];
  readonly usage: Usage | undefined;
  readonly stop: StopReason | undefined;
  /** The text of the caller's that ended the answer, if it is known. */
  readonly stopSequence: string | undefined;
  readonly vendorResponseId: string | undefined;
  /** The vendor's own reply, if it came whole. */
  readonly whole: WholeReply | undefined;
}

export interface WholeReply {
  readonly dialect: WireDialect;
  readonly body: Readonly<Record<string, unknown>>;
}

type OpenPart =
  | { type: 'text'; text: string; signature?: string }
  | { type: 'thinking'; text: string; signature?: string; closed: boolean }
  | { type: 'redacted_thinking'; data: string }
  | OpenCall;

interface OpenCall {
  type: 'tool_call';
  id: string;
  name: string;
  arguments: string;
  signature?: string;
}

/** Assembles an answer from its events. Signed parts are marked with their origin. */
export class AnswerBuilder {
  readonly #parts: OpenPart[] = [];
  readonly #calls: OpenCall[] = [];
  #usage: Usage | undefined;
  #stop: StopReason | undefined;
  #stopSequence: string | undefined;
  #id: string | undefined;
  #whole: WholeReply | undefined;

  add(event: LlmEvent): void {
    switch (event.type) {
      case 'start':
        this.#id = event.id;
        return;
      case 'content':
        this.#openText().text += event.text;
        return;
      case 'content_signature':
        this.#openText().signature = event.signature;
        return;
      case 'thinking':
        this.#openThought().text += event.text;
        return;
      case 'thinking_end': {
        const thought = this.#openThought();
        thought.closed = true;
        if (event.signature !== undefined) thought.signature = event.signature;
        return;
      }
      case 'redacted_thinking':
        this.#parts.push({ type: 'redacted_thinking', data: event.data });
        return;
      case 'tool_call_start': {
        const { id, name, signature } = event;
        const call: OpenCall = { type: 'tool_call', id, name, arguments: '' };
        if (signature !== undefined) call.signature = signature;
        this.#calls[event.index] = call;
        this.#parts.push(call);
        return;
      }
      case 'tool_call_arguments': {
        const call = this.#calls[event.index];
        if (call !== undefined) call.arguments += event.text;
        return;
      }
      case 'usage':
        this.#usage = event.usage;
        return;
      case 'stop':
        this.#stop = event.reason;
        this.#stopSequence = event.sequence;
        return;
      case 'whole_reply':
        this.#whole = event;
        return;
      case 'content_end':
      case 'chat_extra':
      case 'tool_call_end':
      case 'embedding':
      case 'unknown':
    }
  }

  build(origin: Origin): LlmAnswer {
    const content = this.#parts.map((part): AssistantPart => closed(part, origin));
    return {
      content,
      text: content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
      toolCalls: content.filter((part) => part.type === 'tool_call'),
      usage: this.#usage,
      stop: this.#stop,
      stopSequence: this.#stopSequence,
      vendorResponseId: this.#id,
      whole: this.#whole,
    };
  }

  #openText(): Extract<OpenPart, { type: 'text' }> {
    const last = this.#parts.at(-1);
    if (last?.type === 'text') return last;
    const opened = { type: 'text' as const, text: '' };
    this.#parts.push(opened);
    return opened;
  }

  #openThought(): Extract<OpenPart, { type: 'thinking' }> {
    const last = this.#parts.at(-1);
    if (last?.type === 'thinking' && !last.closed) return last;
    const opened = { type: 'thinking' as const, text: '', closed: false };
    this.#parts.push(opened);
    return opened;
  }
}

function closed(part: OpenPart, origin: Origin): AssistantPart {
  if (part.type === 'thinking') {
    const { type, text, signature } = part;
    return { type, text, origin, ...(signature !== undefined && { signature }) };
  }
  const signed = part.type === 'redacted_thinking' || part.signature !== undefined;
  return signed ? { ...part, origin } : { ...part };
}
