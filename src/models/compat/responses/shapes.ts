/** OpenAI's Responses API as the documents show it. */
import { z } from 'zod';
import { named } from '../../../http/operations/index.js';
import { responsesBody } from './request-shape.js';

const count = z.int().min(0);
const status = z.enum(['in_progress', 'completed', 'incomplete', 'failed']);

const inputItem = z.union([
  z.looseObject({
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: z.union([
      z.string(),
      z.array(
        z.union([
          z.looseObject({ type: z.enum(['input_text', 'output_text']), text: z.string() }),
          z.looseObject({ type: z.literal('input_image'), image_url: z.string() }),
        ]),
      ),
    ]),
  }),
  z.looseObject({
    type: z.literal('function_call'),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
  z.looseObject({
    type: z.literal('function_call_output'),
    call_id: z.string(),
    output: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
  }),
  z.looseObject({
    type: z.literal('reasoning'),
    summary: z.array(z.looseObject({ text: z.string() })),
    encrypted_content: z.string().nullish(),
  }),
]);

export const responsesRequestShape = named(
  'ResponsesRequest',
  responsesBody.extend({
    input: z
      .union([z.string(), z.array(named('ResponseInputItem', inputItem))])
      .describe('The text of the user, or the items of the conversation.'),
  }),
);

const outputItem = named(
  'ResponseOutputItem',
  z.discriminatedUnion('type', [
    z.looseObject({
      type: z.literal('message'),
      id: z.string(),
      status,
      role: z.literal('assistant'),
      content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
    }),
    z.looseObject({
      type: z.literal('function_call'),
      id: z.string().optional(),
      status: status.optional(),
      call_id: z.string(),
      name: z.string(),
      arguments: z.string(),
    }),
    z.looseObject({
      type: z.literal('reasoning'),
      id: z.string(),
      summary: z.array(z.looseObject({ type: z.literal('summary_text'), text: z.string() })),
      encrypted_content: z.string().nullish(),
    }),
  ]),
);

export const responseShape = named(
  'Response',
  z.looseObject({
    id: z.string(),
    object: z.literal('response'),
    created_at: z.int(),
    completed_at: z.int().nullish(),
    status,
    error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    incomplete_details: z.looseObject({ reason: z.string() }).nullable(),
    instructions: z.string().nullable(),
    max_output_tokens: z.int().nullable(),
    model: z.string(),
    output: z.array(outputItem),
    parallel_tool_calls: z.boolean(),
    previous_response_id: z.string().nullable(),
    store: z.boolean(),
    temperature: z.number().nullable(),
    top_p: z.number().nullable(),
    metadata: z.record(z.string(), z.string()).nullable(),
    usage: z
      .looseObject({ input_tokens: count, output_tokens: count, total_tokens: count })
      .nullish()
      .describe('Once the response has ended.'),
  }),
);

const whole = z.looseObject({
  type: z.enum([
    'response.created',
    'response.in_progress',
    'response.completed',
    'response.incomplete',
    'response.failed',
  ]),
  sequence_number: count,
  response: responseShape,
});

const step = z
  .looseObject({
    type: z.string(),
    sequence_number: count,
    output_index: count.optional(),
    item_id: z.string().optional(),
    delta: z.string().optional(),
    item: outputItem.optional(),
  })
  .describe('Such as `response.output_text.delta`, with what was added.');

export const responseEventShape = named('ResponseStreamEvent', z.union([whole, step]));

export const responseStreamExample =
  'event: response.output_text.delta\n' +
  'data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_5f1c","output_index":0,"content_index":0,"delta":"Hello","logprobs":[]}\n\n';
