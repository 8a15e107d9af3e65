/** The answers of Anthropic's Messages API, as the documents show them. */
import { z } from 'zod';
import { named } from '../../../http/operations/index.js';

const count = z.int().min(0);

const usage = named(
  'AnthropicUsage',
  z.looseObject({
    input_tokens: count.describe('Without what was read from a cache or written to one.'),
    cache_creation_input_tokens: count.nullish(),
    cache_read_input_tokens: count.nullish(),
    output_tokens: count,
  }),
);

const blocks = [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
  z.looseObject({ type: z.literal('redacted_thinking'), data: z.string() }),
  z.looseObject({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
  }),
] as const;

/** Blocks of the vendor's own tools are passed on as they are. */
const otherBlock = z.looseObject({ type: z.string() });
const contentBlock = named('AnthropicContentBlock', z.union([...blocks, otherBlock]));

const message = {
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(contentBlock),
  stop_reason: z
    .string()
    .nullable()
    .describe('`end_turn`, `tool_use`, `max_tokens`, `stop_sequence` and others.'),
  stop_sequence: z.string().nullable(),
  usage,
};

export const messagesAnswerShape = named('AnthropicMessage', z.looseObject(message));

const delta = z.union([
  z.looseObject({ type: z.literal('text_delta'), text: z.string() }),
  z.looseObject({ type: z.literal('thinking_delta'), thinking: z.string() }),
  z.looseObject({ type: z.literal('signature_delta'), signature: z.string() }),
  z.looseObject({ type: z.literal('input_json_delta'), partial_json: z.string() }),
  z.looseObject({ type: z.string() }),
]);

export const messagesEventShape = named(
  'AnthropicStreamEvent',
  z.discriminatedUnion('type', [
    z.looseObject({ type: z.literal('message_start'), message: messagesAnswerShape }),
    z.looseObject({ type: z.literal('content_block_start'), index: count, content_block: contentBlock }),
    z.looseObject({ type: z.literal('content_block_delta'), index: count, delta }),
    z.looseObject({ type: z.literal('content_block_stop'), index: count }),
    z.looseObject({
      type: z.literal('message_delta'),
      delta: z.looseObject({ stop_reason: z.string().nullable(), stop_sequence: z.string().nullable() }),
      usage,
    }),
    z.looseObject({ type: z.literal('message_stop') }),
    z.looseObject({ type: z.literal('ping') }),
    z.looseObject({
      type: z.literal('error'),
      error: z.looseObject({ type: z.string(), message: z.string() }),
    }),
  ]),
);

export const messagesStreamExample =
  'event: message_start\n' +
  'data: {"type":"message_start","message":{"id":"msg_5f1c","type":"message","role":"assistant","model":"sim.echo","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}\n\n' +
  'event: content_block_delta\n' +
  'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}\n\n' +
  'event: message_stop\ndata: {"type":"message_stop"}\n\n';

export const anthropicModelShape = named(
  'AnthropicModel',
  z.looseObject({
    type: z.literal('model'),
    id: z.string(),
    display_name: z.string(),
    created_at: z.string(),
    max_input_tokens: z.int().nullish(),
    max_tokens: z.int().nullish(),
  }),
);
