import { z } from 'zod';
import { PlatformError } from '../../kernel/errors.js';
import { apiKey, declare, type Operation } from '../../http/operations/index.js';
import { compatRefusals } from '../calls/index.js';
import {
  fromResponsesRequest,
  responseEventShape,
  responseShape,
  responsesRequestShape,
  responseStreamExample,
} from '../compat/index.js';
import { idOfRow, shownId } from './response-id.js';
import type { ResponseCalls } from './response-calls.js';
import type { StoredResponses } from './stored-responses.js';

/** Requests contain images. */
const bodyBytesMax = 20 * 1024 * 1024;
const textBytesMax = 4 * 1024 * 1024;

const one = {
  path: '/v1/responses/:id',
  params: z.object({ id: z.string().transform(idOfRow) }),
  access: apiKey('llm:call'),
  dialect: 'openai',
  errors: ['not_found'],
} as const;

export function responseOperations(calls: ResponseCalls, stored: StoredResponses): readonly Operation[] {
  return [
    declare({
      name: 'compat.responses',
      method: 'POST',
      path: '/v1/responses',
      title: 'Call a model with an OpenAI Responses request.',
      description:
        'Text, images, function tools, structured output, reasoning and streams. `previous_response_id` continues a ' +
        'response that was stored; `store: false` stores none. Other tools and fields with an effect elsewhere are ' +
        'refused by name; fields without an effect here are named in `X-Troupe-Ignored`.',
      audit: { exempt: 'model calls leave no entry; the ledger is their record', entries: 'never' },
      idempotency: 'answer',
      access: apiKey('llm:call'),
      rate: 'model-work',
      dialect: 'openai',
      body: z.looseObject({ model: z.string() }).transform(fromResponsesRequest),
      bodyRules: { maxBytes: bodyBytesMax, textBytesMax },
      // The vendor's own form: `shown` has what its clients rely on.
      output: z.unknown(),
      shown: {
        output: responseShape,
        body: responsesRequestShape,
        bodyExample: { model: 'sim.echo', input: 'Where is order 1042?' },
        events: responseEventShape,
        eventsExample: responseStreamExample,
        headers: ['X-Troupe-Paid-By', 'X-Troupe-Ignored'],
      },
      errors: compatRefusals,
      handle: ({ caller, body, leaving }) => calls.answer(caller, body, leaving),
    }),
    declare({
      ...one,
      name: 'compat.response',
      method: 'GET',
      title: 'Read a stored response.',
      query: z.object({
        stream: z.literal('false', 'must be false: a stored response is read whole').optional(),
      }),
      output: z.unknown(),
      shown: { output: responseShape },
      handle: ({ caller, params: { id } }) => stored.read(caller.scope, storable(id)),
    }),
    declare({
      ...one,
      name: 'compat.response-delete',
      method: 'DELETE',
      title: 'Delete a stored response.',
      description: 'A response that continues it can be read, but not be continued any more.',
      audit: { exempt: "the response is a caller's own record of a model call, which leaves no entry" },
      output: z.object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) }),
      handle: async ({ caller, params: { id } }) => {
        await stored.delete(caller.scope, storable(id));
        return { id: shownId(storable(id)), object: 'response' as const, deleted: true as const };
      },
    }),
  ];
}

/** An id in another form cannot name a response. */
function storable(id: string | undefined): string {
  if (id === undefined) throw new PlatformError('not_found');
  return id;
}
