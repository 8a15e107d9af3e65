import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import type { KeyCaller } from '../../kernel/caller.js';
import type { LeaveSignal } from '../../kernel/leave-signal.js';
import { whenReady } from '../../kernel/ready.js';
import { invalidField } from '../../kernel/errors.js';
import { countInputTokens } from '../../llm/index.js';
import {
  apiKey,
  declare,
  envelope,
  type JsonReply,
  type Operation,
  type RawReply,
  type StreamReply,
} from '../../http/operations/index.js';
import { type CallOrder, callSources } from './call-order.js';
import { type CompatForm, streamCompatReply, wholeCompatReply } from './compat-reply.js';
import type { ModelCalls } from './model-calls.js';
import { compatRefusals } from './replies.js';
import {
  chatChunkShape,
  chatCompletionShape,
  ChatFrames,
  chatRequest,
  chatStreamExample,
  checkAddresses,
  type CompatRequest,
  fromChatRequest,
  fromMessagesRequest,
  messagesAnswerShape,
  messagesEventShape,
  MessagesFrames,
  messagesRequest,
  messagesStreamExample,
  toChatReply,
  toMessagesReply,
} from '../compat/index.js';

export interface CompatParts {
  readonly calls: ModelCalls;
  readonly time: Time;
  readonly newId: () => string;
  /** Refuses an address that may not be reached from here. */
  readonly checkUrl: (url: string, field: string) => unknown;
  readonly report: (attempted: string, error: unknown) => void;
}

/** Requests contain images. */
const bodyBytesMax = 20 * 1024 * 1024;
const textBytesMax = 4 * 1024 * 1024;

/** What has to be there before the compatible interface parses the rest. */
const compatBody = z.looseObject({ model: z.string(), messages: z.array(z.unknown()) });

export function compatOperations(parts: CompatParts): readonly Operation[] {
  const { calls, checkUrl } = parts;
  const common = {
    method: 'POST',
    access: apiKey('llm:call'),
    rate: 'model-work',
    bodyRules: { maxBytes: bodyBytesMax, textBytesMax },
    errors: compatRefusals,
  } as const;
  return [
    declare({
      ...common,
      name: 'compat.chat-completions',
      audit: { exempt: 'model calls leave no entry; the ledger is their record', entries: 'never' },
      idempotency: { exempt: 'the call stores nothing that its caller can read' },
      path: '/v1/chat/completions',
      title: 'Call a model with an OpenAI chat completions request.',
      description: 'OpenAI clients work with this address and an API key of the platform.',
      body: compatBody.transform(fromChatRequest),
      dialect: 'openai',
      // The vendor's own form: `shown` has what its clients rely on.
      output: z.unknown(),
      shown: {
        output: chatCompletionShape,
        body: chatRequest,
        bodyExample: chatExample,
        events: chatChunkShape,
        eventsExample: chatStreamExample,
        headers: ['X-Troupe-Paid-By', 'X-Troupe-Ignored'],
      },
      handle: ({ caller, body, leaving }) =>
        answer(parts, orderOf(checkUrl, 'openai', caller, body, leaving), 'chatcmpl-', {
          ...chatForm,
          frames: (head) => new ChatFrames(head, body.wantsUsage),
        }),
    }),
    declare({
      ...common,
      name: 'compat.messages',
      audit: { exempt: 'model calls leave no entry; the ledger is their record', entries: 'never' },
      idempotency: { exempt: 'the call stores nothing that its caller can read' },
      path: '/v1/messages',
      title: 'Call a model with an Anthropic Messages request.',
      description: 'Anthropic clients work with this address and an API key of the platform.',
      body: compatBody.transform(fromMessagesRequest),
      dialect: 'anthropic',
      headers: ['anthropic-beta'],
      // The vendor's own form: `shown` has what its clients rely on.
      output: z.unknown(),
      shown: {
        output: messagesAnswerShape,
        body: messagesRequest,
        bodyExample: { ...chatExample, max_tokens: 1_024 },
        events: messagesEventShape,
        eventsExample: messagesStreamExample,
        headers: ['X-Troupe-Paid-By', 'X-Troupe-Ignored', 'Request-Id'],
      },
      handle: ({ caller, body, leaving, headers }) => {
        const asked = withBeta(body, headers['anthropic-beta']);
        return answer(parts, orderOf(checkUrl, 'anthropic', caller, asked, leaving), 'msg_', messagesForm);
      },
    }),
    declare({
      ...common,
      name: 'compat.count-tokens',
      audit: { exempt: 'counting tokens changes nothing', entries: 'never' },
      idempotency: { exempt: 'the call stores nothing that its caller can read' },
      path: '/v1/messages/count_tokens',
      title: 'Count the tokens of an Anthropic Messages request, without a call.',
      description:
        'An estimate by the length of the text, as the platform reserves it; exact for models of the vendor sim.',
      rate: 'request',
      body: compatBody.transform((body) => fromMessagesRequest({ ...body, max_tokens: 1 })),
      output: z.object({ input_tokens: z.int().min(0) }),
      shown: { body: messagesRequest.partial({ max_tokens: true }), bodyExample: chatExample },
      dialect: 'anthropic',
      async handle({ caller, body, leaving }) {
        const order = orderOf(checkUrl, 'anthropic', caller, body, leaving);
        // Nothing is spent, so a used-up month does not matter.
        await calls.preflight({ ...order, alreadyAdmitted: true });
        return { input_tokens: countInputTokens(order.request, order.model) };
      },
    }),
  ];
}

const chatExample = {
  model: 'sim.echo',
  messages: [{ role: 'user', content: 'Where is order 1042?' }],
};

const chatForm = {
  reply: toChatReply,
  failure: (error) => `data: ${JSON.stringify(envelope(error, 'openai'))}\n\n`,
} as const satisfies Omit<CompatForm, 'frames'>;

const messagesForm: CompatForm = {
  frames: (head, origin) => new MessagesFrames(head, origin),
  reply: toMessagesReply,
  failure: (error) => `event: error\ndata: ${JSON.stringify(envelope(error, 'anthropic'))}\n\n`,
};

/** Longer than the names of all betas that a client can combine. */
const betaLengthMax = 1_000;
/** The edge lets through what no header to a vendor may carry, such as a delete character. */
const betaPattern = /^[\x20-\x7e]*$/;

function withBeta(given: CompatRequest, beta: string | undefined): CompatRequest {
  const { wire } = given.request;
  if (wire === undefined || beta === undefined) return given;
  if (beta.length > betaLengthMax) {
    throw invalidField('anthropic-beta', `must have at most ${betaLengthMax} characters`);
  }
  if (!betaPattern.test(beta)) {
    throw invalidField('anthropic-beta', 'must have printable ASCII characters only');
  }
  return { ...given, request: { ...given.request, wire: { ...wire, headers: { 'anthropic-beta': beta } } } };
}

function orderOf(
  checkUrl: CompatParts['checkUrl'],
  vendor: 'openai' | 'anthropic',
  caller: KeyCaller,
  { model, request }: CompatRequest,
  signal: LeaveSignal,
): CallOrder {
  checkAddresses(request, checkUrl);
  return {
    scope: caller.scope,
    limits: caller.limits,
    source: callSources.direct,
    keyId: caller.keyId,
    userId: null,
    model,
    preferredVendor: vendor,
    request,
    signal,
  };
}

function answer(
  { calls, time, newId, report }: CompatParts,
  order: CallOrder,
  prefix: string,
  form: CompatForm,
) {
  return whenReady(calls.prepare(order), (begin): Promise<JsonReply<object> | RawReply | StreamReply> => {
    const head = { id: prefix + newId(), createdSeconds: Math.floor(time.wallMs() / 1_000) };
    const { request } = order;
    if (!request.stream) return wholeCompatReply(begin(), request, form, head);
    return streamCompatReply(begin(), request, form, head, (error) =>
      report('a model call after its answer began', error),
    );
  });
}
