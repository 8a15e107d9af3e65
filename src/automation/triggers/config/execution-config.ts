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
import { named } from '../../../http/operations/index.js';

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

export const callback = named(
  'Callback',
  z.strictObject({
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
    send_failures: z
      .boolean()
      .default(false)
      .describe('Whether a turn that ends otherwise than COMPLETED is sent too, with `error` and no answer.'),
  }),
);

export type Callback = z.output<typeof callback>;

export const splitConfig = named(
  'SplitConfig',
  z.strictObject({
    enabled: z.boolean().optional(),
    max_chunk_size: z
      .int()
      .min(100)
      .max(50_000)
      .optional()
      .describe(
        'Default: 1500; where `enabled` is not set, the length of the channel. A channel never gets a text that its vendor refuses: with `enabled: false` a longer one is cut and ends in `…`.',
      ),
    max_chunks: z.int().min(1).max(50).optional(),
    chunk_strategy: z.enum(['paragraph', 'sentence', 'length']).default('paragraph'),
    numbering: z.boolean().default(true),
    inter_chunk_delay_ms: z.int().min(0).max(10_000).default(500),
  }),
);

export const messageBuffer = named(
  'MessageBuffer',
  z.strictObject({
    enabled: z.boolean().default(false),
    window_ms: z.int().min(100).max(60_000).default(5_000),
    max_messages: z.int().min(1).max(100).default(10),
    concat_separator: z.string().max(100).default('\n'),
  }),
);

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

/** `execution` of triggers that nobody waits for: they always run async. */
export const sourceExecution = execution.omit({ ack_response: true, message_buffer: true }).extend({
  mode: z.enum(['sync', 'async']).optional().describe('Ignored: nobody waits for the answer.'),
});

/** The characters that the vendor of a channel takes in one text, and that the apps of a response format take. */
const charsMaxOf: Readonly<Record<string, number>> = {
  twilio: 1_500,
  whatsapp_cloud: 4_000,
  slack: 3_500,
  twiml: 1_500,
  teams: 25_000,
};
/** Beyond these the vendor refuses a text. */
const charsRefusedBeyond: Readonly<Record<string, number>> = {
  twilio: 1_600,
  whatsapp_cloud: 4_096,
  slack: 40_000,
  twiml: 1_600,
  teams: 25_000,
};
const chunkCharsDefault = 1_500;

export type SplitConfig = ReturnType<typeof splitConfigOf>;

/** The receiver of an answer, whose limits apply. */
export interface Receiver {
  /** The channel, else the response format. */
  readonly name: string | undefined;
  /** False if the tenant's own callback gets the text, which takes any length. */
  readonly isDirect: boolean;
}

export function splitConfigOf(
  given: z.output<typeof splitConfig>,
  { name: receiver, isDirect }: Receiver = { name: undefined, isDirect: false },
  adapter: { readonly split_messages?: boolean | undefined; readonly max_messages?: number | undefined } = {},
) {
  const charsMax = receiver === undefined ? undefined : charsMaxOf[receiver];
  const refusedBeyond = charsRefusedBeyond[receiver ?? ''];
  const isWanted = given.enabled ?? adapter.split_messages;
  const enabled = isWanted ?? charsMax !== undefined;
  return {
    ...given,
    enabled,
    max_chunk_size: Math.min(
      // The lengths of channels hold where splitting is not switched on by the configuration.
      given.max_chunk_size ?? (isWanted === true ? undefined : charsMax) ?? chunkCharsDefault,
      refusedBeyond ?? Infinity,
    ),
    max_chunks: given.max_chunks ?? adapter.max_messages ?? 10,
    /** The length of a text that is not split. */
    ...(isDirect && refusedBeyond !== undefined ? { text_max: refusedBeyond } : {}),
  };
}
