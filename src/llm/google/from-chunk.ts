import type { GenerateContentResponse, Part } from '@google/genai';
import type { ReplyItem } from '../contract.js';
import { isRecord, list, parseReply, text, type Loose } from '../reply-json.js';
import { VendorError } from '../vendor-error.js';
import type { SseEvent, StreamReader } from '../vendor.js';
import { mapGeminiErrorObject } from './map-error.js';
import { geminiStopReason } from './map-stop-reason.js';
import { geminiUsage } from './usage.js';

type Reply = Loose<GenerateContentResponse>;

const toolCallsMax = 256;

/**
 * Reads one reply, streamed or whole: a stream is a sequence of the same object. There is no closing event, so the answer
 * is complete if a finish reason was given before the connection ended.
 */
export class GeminiStreamReader implements StreamReader {
  readonly done = false;
  #started = false;
  #callCount = 0;
  #finish: string | undefined;
  #responseId = '';

  read(event: SseEvent, out: ReplyItem[]): void {
    const raw = parseReply(event.data);
    if (isRecord(raw)) this.readObject(raw, out);
    else out.push(failure(nonsense(`a chunk that is not a JSON object: ${event.data.slice(0, 100)}`)));
  }

  readObject(raw: Readonly<Record<string, unknown>>, out: ReplyItem[]): void {
    if (isRecord(raw['error'])) {
      out.push(failure(mapGeminiErrorObject(raw)));
      return;
    }
    const reply: Reply = raw;
    this.#start(reply, out);
    const candidate = list(reply.candidates)[0];
    for (const part of list(candidate?.content?.parts)) this.#readPart(part, out);
    if (isRecord(reply.usageMetadata)) {
      out.push({ type: 'usage', usage: geminiUsage(reply.usageMetadata) });
    }
    this.#finish = text(candidate?.finishReason) ?? this.#finish;
    const blocked = text(reply.promptFeedback?.blockReason);
    if (candidate === undefined && blocked !== undefined) {
      const why = text(reply.promptFeedback?.blockReasonMessage) ?? '';
      const error = new VendorError('policy', `the prompt was blocked (${blocked}) ${why}`.trim(), {
        vendor: 'google',
        code: blocked,
      });
      out.push(failure(error));
    } else if (reply.candidates === undefined && reply.usageMetadata === undefined) {
      out.push({ type: 'unknown', raw });
    }
  }

  end(out: ReplyItem[]): void {
    if (this.#finish === undefined) {
      const error = new VendorError('transport', 'the stream ended before the answer was complete', {
        vendor: 'google',
      });
      out.push(failure(error));
      return;
    }
    const reason = geminiStopReason(this.#finish, this.#callCount > 0);
    out.push({ type: 'stop', reason, raw: this.#finish });
  }

  #start(reply: Reply, out: ReplyItem[]): void {
    if (this.#started) return;
    this.#started = true;
    this.#responseId = text(reply.responseId) ?? '';
    out.push({ type: 'start', id: text(reply.responseId), model: text(reply.modelVersion) });
  }

  #readPart(part: Loose<Part>, out: ReplyItem[]): void {
    const signature = text(part.thoughtSignature);
    if (isRecord(part.functionCall)) {
      this.#readCall(part.functionCall, signature, out);
      return;
    }
    const content = text(part.text);
    if (content === undefined) {
      out.push({ type: 'unknown', raw: part });
      return;
    }
    if (part.thought === true) {
      if (content !== '') out.push({ type: 'thinking', text: content });
      if (signature !== undefined) out.push({ type: 'thinking_end', signature });
      return;
    }
    if (content !== '') out.push({ type: 'content', text: content });
    if (signature !== undefined) out.push({ type: 'content_signature', signature });
  }

  /** Tool calls arrive whole. A missing id is made of the answer's, which no other answer of the conversation has. */
  #readCall(
    call: NonNullable<Loose<Part>['functionCall']>,
    signature: string | undefined,
    out: ReplyItem[],
  ): void {
    if (this.#callCount === toolCallsMax) {
      // Not thrown: the usage stands behind the parts.
      const what = `the vendor sent more than ${toolCallsMax} tool calls in one answer`;
      out.push(failure(new VendorError('too_large', what, { vendor: 'google' })));
      return;
    }
    const index = this.#callCount++;
    out.push(
      {
        type: 'tool_call_start',
        index,
        id: text(call.id) ?? (this.#responseId === '' ? '' : `call_${this.#responseId}_${index}`),
        name: text(call.name) ?? '',
        ...(signature !== undefined && { signature }),
      },
      { type: 'tool_call_arguments', index, text: JSON.stringify(call.args ?? {}) },
      { type: 'tool_call_end', index },
    );
  }
}

function failure(error: VendorError): ReplyItem {
  return { type: 'failure', error };
}

function nonsense(what: string): VendorError {
  return new VendorError('nonsense', `the vendor sent ${what}`, { vendor: 'google' });
}
