import type { PlatformError } from '../../../kernel/errors.js';
import { type LlmEvent, type Origin, type StopReason, type Usage, zeroUsage } from '../../../llm/index.js';
import { OutputItems } from './output-items.js';
import type { ResponsesBody } from './request-shape.js';
import {
  begunResponse,
  endedResponse,
  type OutputItem,
  type ResponseHead,
  type ResponseObject,
} from './response-object.js';

export interface ResponseFramesParts {
  readonly given: ResponsesBody;
  readonly head: ResponseHead;
  readonly origin: Origin;
  /** The unique part of the items' ids. */
  readonly itemIds: string;
  readonly nowSeconds: () => number;
}

/** Writes an answer as the numbered events of OpenAI's Responses API, and builds the response. */
export class ResponseFrames {
  readonly #nowSeconds: () => number;
  readonly #begun: ResponseObject;
  readonly #items: OutputItems;
  #text = '';
  #number = 0;
  #usage: Usage = zeroUsage;
  #stop: StopReason = 'stop';
  #ended: ResponseObject | undefined;

  constructor({ given, head, origin, itemIds, nowSeconds }: ResponseFramesParts) {
    this.#nowSeconds = nowSeconds;
    this.#begun = begunResponse(given, head);
    const sendsSignatures = given.include?.includes('reasoning.encrypted_content') === true;
    this.#items = new OutputItems(itemIds, origin, sendsSignatures, this.#tell);
  }

  write(events: readonly LlmEvent[]): string {
    if (this.#number === 0) {
      this.#tell('response.created', { response: this.#begun });
      this.#tell('response.in_progress', { response: this.#begun });
    }
    for (const event of events) {
      if (event.type === 'usage') this.#usage = event.usage;
      if (event.type === 'stop') this.#stop = event.reason;
      this.#items.add(event);
    }
    return this.#take();
  }

  /** The whole response. Called after the closing events. */
  get response(): ResponseObject {
    this.#ended ??= endedResponse(this.#begun, {
      output: this.#items.closed,
      usage: this.#usage,
      stop: this.#stop,
      completedSeconds: this.#nowSeconds(),
    });
    return this.#ended;
  }

  /** The output, for a later call that only names its items. */
  get keptItems(): readonly OutputItem[] {
    return this.#items.kept;
  }

  end(): string {
    const { response } = this;
    this.#tell(`response.${response.status}`, { response });
    return this.#take();
  }

  readonly failure = ({ code, message }: PlatformError): string => {
    const output = this.#items.closed;
    // The codes of the platform, as in its other refusals.
    const error = { code, message };
    this.#tell('response.failed', { response: { ...this.#begun, status: 'failed', output, error } });
    return this.#take();
  };

  readonly #tell = (type: string, fields: Readonly<Record<string, unknown>>): void => {
    this.#text += `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#number, ...fields })}\n\n`;
    this.#number += 1;
  };

  #take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}
