import { z } from 'zod';
import {
  address,
  contentType,
  headerName,
  jsonOf,
  refuseUnlessOneSecret,
  secretFields,
  withDefault,
} from './fields.js';

const templateBytesMax = 64 * 1024;

/** A patch that changes only `type` leaves the fields of the previous type; they are kept and ignored. */
const leftOver = { header: headerName.optional() };

const callbackAuth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none'), ...secretFields, ...leftOver }),
  z
    .strictObject({ type: z.literal('bearer'), ...secretFields, ...leftOver })
    .superRefine(refuseUnlessOneSecret),
  z
    .strictObject({ type: z.literal('basic'), ...secretFields, ...leftOver })
    .superRefine(refuseUnlessOneSecret)
    .describe('The secret holds `user:password`.'),
  z
    .strictObject({ type: z.literal('api_key'), header: headerName.default('X-Api-Key'), ...secretFields })
    .superRefine(refuseUnlessOneSecret),
]);

export type CallbackAuth = z.output<typeof callbackAuth>;

/** `type` defaults to `none`. */
const callbackAuthGiven = withDefault('type', 'none', callbackAuth);

const responseTransform = z.strictObject({
  strip_markdown: z.boolean().default(false),
  max_length: z.int().min(1).max(1_000_000).optional(),
});

export type ResponseTransform = z.output<typeof responseTransform>;

export const callback = z.strictObject({
  url: address.describe('May contain `{{ name }}` placeholders after the host.'),
  method: z.enum(['POST', 'PUT', 'PATCH']).default('POST'),
  content_type: contentType.optional(),
  auth: callbackAuthGiven.prefault({}),
  body_template: z
    .union([z.record(z.string(), z.json()), z.array(z.json())])
    .refine(
      (template) => Buffer.byteLength(JSON.stringify(template)) <= templateBytesMax,
      `has more than ${templateBytesMax} bytes as JSON`,
    )
    .optional()
    .describe('Values may contain `{{ agent_response }}`, names of the mapped context, and ids.'),
  response_transform: responseTransform.optional(),
});

export type Callback = z.output<typeof callback>;

export const splitConfig = z.strictObject({
  enabled: z.boolean().optional(),
  max_chunk_size: z.int().min(100).max(50_000).default(1_500),
  max_chunks: z.int().min(1).max(50).optional(),
  chunk_strategy: z.enum(['paragraph', 'sentence', 'length']).default('paragraph'),
  numbering: z.boolean().default(true),
  inter_chunk_delay_ms: z.int().min(0).max(10_000).default(500),
});

export const messageBuffer = z.strictObject({
  enabled: z.boolean().default(false),
  window_ms: z.int().min(100).max(60_000).default(5_000),
  max_messages: z.int().min(1).max(100).default(10),
  concat_separator: z.string().max(100).default('\n'),
});

export type MessageBuffer = z.output<typeof messageBuffer>;

export const execution = z.strictObject({
  mode: z.enum(['sync', 'async']).default('sync'),
  timeout_ms: z
    .unknown()
    .optional()
    .describe(
      'Milliseconds. Can only shorten the deadline; a value that is not a number or is below 1000 is ignored.',
    ),
  ack_response: z
    .strictObject({
      body: jsonOf(templateBytesMax).optional(),
      content_type: contentType
        .optional()
        .describe('application/json, application/xml, text/xml or text/plain; a charset may follow.'),
    })
    .optional(),
  callback: callback.optional(),
  split_config: splitConfig.prefault({}),
  message_buffer: messageBuffer.prefault({}),
});

export type Execution = z.output<typeof execution>;
