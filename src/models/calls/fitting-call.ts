/** A call whose answer must fit a schema. Nothing of an answer is passed on before it was checked. */
import { addUsage, AnswerBuilder, type Hear, type LlmEvent } from '../../llm/index.js';
import {
  type AnswerFit,
  askedAgain,
  responseFormatMismatch,
  type SchemaFormat,
} from '../response-format/index.js';
import type { CallOrder } from './call-order.js';
import type { ModelCalls, RunningCall, ServedCall } from './model-calls.js';

export interface FittingParts {
  readonly calls: Pick<ModelCalls, 'prepare'>;
  readonly fit: Pick<AnswerFit, 'of'>;
}

interface Collected {
  readonly served: ServedCall;
  readonly events: readonly LlmEvent[];
  readonly text: string;
  /** Undefined if the answer fits, or calls tools. */
  readonly mismatch: string | undefined;
}

export class FittingCall implements RunningCall {
  readonly #parts: FittingParts;
  readonly #order: CallOrder;
  readonly #format: SchemaFormat;
  #current: RunningCall;

  /** `first` is the call of the order, prepared. */
  constructor(parts: FittingParts, order: CallOrder, format: SchemaFormat, first: RunningCall) {
    this.#parts = parts;
    this.#order = order;
    this.#format = format;
    this.#current = first;
  }

  get target(): RunningCall['target'] {
    return this.#current.target;
  }

  get spent(): RunningCall['spent'] {
    return this.#current.spent;
  }

  run = async (hear: Hear): Promise<ServedCall | undefined> => {
    const first = await this.#collected();
    if (first === undefined) return undefined;
    if (first.mismatch === undefined) {
      await hear(first.events);
      return first.served;
    }
    const { request } = this.#order;
    const messages = askedAgain(request.messages, first.text, first.mismatch);
    // Both calls are one request, which is served whole if it crosses a limit.
    const again = {
      ...this.#order,
      request: { ...request, messages },
      alreadyAdmitted: this.#current.spent?.admitted,
      withinBudgets: true,
    };
    const begin = await this.#parts.calls.prepare(again);
    this.#current = begin();
    const second = await this.#collected();
    if (second === undefined) return undefined;
    if (second.mismatch !== undefined) throw responseFormatMismatch(second.mismatch);
    await hear(second.events);
    return {
      ...second.served,
      usage: addUsage(first.served.usage, second.served.usage),
      cost: first.served.cost + second.served.cost,
      latencyMs: first.served.latencyMs + second.served.latencyMs,
    };
  };

  async #collected(): Promise<Collected | undefined> {
    const events: LlmEvent[] = [];
    const builder = new AnswerBuilder();
    const served = await this.#current.run((batch) => {
      for (const event of batch) {
        builder.add(event);
        events.push(event);
      }
    });
    if (served === undefined) return undefined;
    const { text, toolCalls } = builder.build({
      vendor: served.vendor,
      model: served.model,
      credentialId: '',
    });
    if (toolCalls.length > 0) return { served, events, text, mismatch: undefined };
    const { mismatch } = await this.#parts.fit.of(this.#order.scope, this.#format, text);
    return { served, events, text, mismatch };
  }
}
