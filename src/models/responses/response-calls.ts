import type { Time } from '../../../cluster/index.js';
import type { KeyCaller } from '../../kernel/caller.js';
import { invalidField } from '../../kernel/errors.js';
import type { LeaveSignal } from '../../kernel/leave-signal.js';
import {
  AnswerBuilder,
  type LlmEvent,
  type LlmRequest,
  type LostWish,
  type Message,
  type Origin,
  withoutEffect,
} from '../../llm/index.js';
import { JsonReply, type RawReply, type StreamReply } from '../../http/operations/index.js';
import {
  callSources,
  type ModelCalls,
  payerHeaders,
  type RunningCall,
  streamedAnswer,
  toNobody,
} from '../calls/index.js';
import {
  callOf,
  checkAddresses,
  ignoredHeader,
  ResponseFrames,
  type ResponsesRequest,
} from '../compat/index.js';
import { withStoredItems } from './item-references.js';
import { idOfRow, shownId } from './response-id.js';
import { type Conversation, noConversation, type StoredResponses } from './stored-responses.js';

export interface ResponseCallParts {
  readonly calls: Pick<ModelCalls, 'prepare'>;
  readonly stored: StoredResponses;
  /** Refuses an address that may not be reached from here. */
  readonly checkUrl: (url: string, field: string) => unknown;
  readonly time: Pick<Time, 'wallMs'>;
  readonly newId: () => string;
  readonly report: (attempted: string, error: unknown) => void;
}

type Reply = JsonReply<unknown> | RawReply | StreamReply;

/** Model calls in the form of OpenAI's Responses API. */
export class ResponseCalls {
  readonly #parts: ResponseCallParts;

  constructor(parts: ResponseCallParts) {
    this.#parts = parts;
  }

  async answer(caller: KeyCaller, asked: ResponsesRequest, leaving: LeaveSignal): Promise<Reply> {
    const { calls, stored, report } = this.#parts;
    const { scope, limits, keyId } = caller;
    const { given } = asked;
    const before = await this.#conversation(caller, given.previous_response_id);
    const input = await withStoredItems(asked.input, scope, stored);
    const { request, added, ignored } = callOf({ ...asked, input }, before.messages);
    checkAddresses({ messages: added }, this.#parts.checkUrl);
    stored.refuseLong(before, added);
    const begin = await calls.prepare({
      scope,
      limits,
      source: callSources.direct,
      keyId,
      userId: null,
      model: given.model,
      preferredVendor: 'openai',
      request,
      signal: leaving,
    });
    const id = this.#parts.newId();
    const answer = new ResponseAnswer(asked, id, this.#parts);
    const keep = async (running: RunningCall): Promise<void> => {
      if (given.store === false) return;
      const { response, items, content } = answer.ended(running);
      const messages: Message[] = [...added, { role: 'assistant', content }];
      // A continued answer of nothing would be an empty message, which vendors refuse.
      if (content.length === 0) messages.pop();
      await stored.keep(scope, before, { id, response, messages, items });
    };
    const call = keptCall(begin(), keep);
    const headers = () => ignoredHeader([...ignored, ...unusedBy(call, request)]);
    if (given.stream === true) {
      const failed = (error: unknown): void => report('a response after its answer began', error);
      return streamedAnswer(call, () => answer.form(call), failed, headers);
    }
    const served = await call.run((events) => void answer.form(call).write(events));
    if (served === undefined) return toNobody;
    return new JsonReply<unknown>(answer.ended(call).response, 200, {
      ...payerHeaders(served.payer),
      ...headers(),
    });
  }

  async #conversation({ scope }: KeyCaller, previous: string | null | undefined): Promise<Conversation> {
    if (previous == null) return noConversation;
    const id = idOfRow(previous);
    if (id === undefined) throw invalidField('previous_response_id', 'names no stored response');
    return this.#parts.stored.conversation(scope, id);
  }
}

/** One answer: as events for a stream, as the response object, and as the message that the next call needs. */
class ResponseAnswer {
  readonly #asked: ResponsesRequest;
  readonly #id: string;
  readonly #parts: ResponseCallParts;
  readonly #builder = new AnswerBuilder();
  #frames: ResponseFrames | undefined;

  constructor(asked: ResponsesRequest, id: string, parts: ResponseCallParts) {
    this.#asked = asked;
    this.#id = id;
    this.#parts = parts;
  }

  form(call: RunningCall) {
    const frames = this.#framesOf(call);
    return {
      write: (events: readonly LlmEvent[]) => {
        for (const event of events) this.#builder.add(event);
        return frames.write(events);
      },
      end: () => frames.end(),
      failure: frames.failure,
    };
  }

  ended(call: RunningCall) {
    const { content } = this.#builder.build(originOf(call));
    const frames = this.#framesOf(call);
    return { response: frames.response, items: frames.keptItems, content };
  }

  /** Made with the first piece: only then is the answering model known. */
  #framesOf(call: RunningCall): ResponseFrames {
    const { time } = this.#parts;
    const nowSeconds = (): number => Math.floor(time.wallMs() / 1_000);
    const origin = originOf(call);
    this.#frames ??= new ResponseFrames({
      given: this.#asked.given,
      head: { id: shownId(this.#id), createdSeconds: nowSeconds(), model: origin.model },
      origin,
      itemIds: this.#id.replaceAll('-', ''),
      nowSeconds,
    });
    return this.#frames;
  }
}

/** The call ends only after its response is stored: what a client has read to the end can be continued. */
function keptCall(call: RunningCall, keep: (call: RunningCall) => Promise<void>): RunningCall {
  return {
    get target() {
      return call.target;
    },
    get spent() {
      return call.spent;
    },
    async run(hear) {
      const served = await call.run(hear);
      if (served !== undefined) await keep(call);
      return served;
    },
  };
}

const fieldsOf: Readonly<Partial<Record<LostWish, string>>> = {
  temperature: 'temperature',
  topP: 'top_p',
  reasoningEffort: 'reasoning.effort',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
};

/** Fields that the model that answered did not get. */
function unusedBy({ target }: RunningCall, request: LlmRequest): readonly string[] {
  if (target === undefined) return [];
  const lost = [...withoutEffect(request, target.model)].map((wish) => fieldsOf[wish]);
  return lost.filter((field) => field !== undefined);
}

function originOf({ target }: RunningCall): Origin {
  return {
    vendor: target?.model.vendor ?? '',
    model: target?.model.id ?? '',
    credentialId: target?.credential.id ?? '',
  };
}
