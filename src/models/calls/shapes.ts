import { z } from 'zod';
import {
  type CatalogueModel,
  inputTokens,
  type LlmRequest,
  modelKinds,
  modelTiers,
  outputTokens,
  type Usage,
} from '../../llm/index.js';
import type { ReadPart } from '../parts/index.js';
import { messagesOf, nativeMessage, toolCallShape } from './native-message.js';
import { nativeOptions, optionsOf } from './native-options.js';
import { named } from '../../http/operations/index.js';

const modelName = z.string().min(1).max(200);

export const callBody = named(
  'CallRequest',
  z.object({
    query: z.string().refine((text) => text.trim() !== '', 'must not be empty'),
    model: modelName.default('auto'),
    provider: modelName.optional(),
    messages: z.array(nativeMessage).max(10_000).default([]),
    temperature: z.number().min(0).max(2).default(0.7),
    max_tokens: z.int().min(1).optional(),
    stream: z.boolean().default(false),
    cache: z.boolean().optional(),
    ...nativeOptions,
  }),
);
export type CallBody = z.output<typeof callBody>;

export const usageShape = z.object({
  input_tokens: z.int().min(0),
  output_tokens: z.int().min(0),
  total_tokens: z.int().min(0),
});

export const callAnswer = named(
  'CallAnswer',
  z.object({
    success: z.literal(true),
    response: z.string(),
    parsed: z.unknown().optional().describe('The answer as a value, with `response_format`.'),
    tool_calls: z.array(toolCallShape).optional(),
    model: z.string(),
    provider: z.string(),
    usage: usageShape,
    cost: z.number().min(0),
    latency_ms: z.number().min(0),
    routing: z
      .object({
        is_auto_routed: z.boolean(),
        model_chosen: z.string(),
        confidence: z.number().min(0).max(1),
        reason: z.string().optional(),
      })
      .optional(),
    cached: z.boolean().optional(),
  }),
);
export type CallAnswer = z.input<typeof callAnswer>;

/** One event of a streamed answer. Pieces come first, then one end. */
export const callChunk = named(
  'CallChunk',
  z.union([
    named('CallPiece', z.object({ chunk: z.string(), done: z.literal(false) })),
    named(
      'CallEnd',
      z.object({
        chunk: z.literal(''),
        done: z.literal(true),
        usage: usageShape,
        parsed: callAnswer.shape.parsed,
        tool_calls: callAnswer.shape.tool_calls,
      }),
    ),
    named(
      'CallFailure',
      z
        .object({ error: z.string(), message: z.string(), done: z.literal(true) })
        .describe('The call failed after its first piece; `error` is a code of the errors.'),
    ),
  ]),
);

export const callStreamExample =
  'data: {"chunk":"Your order ","done":false}\n\n' +
  'data: {"chunk":"","done":true,"usage":{"input_tokens":412,"output_tokens":58,"total_tokens":470}}\n\n';

export const modelShape = named(
  'Model',
  z.object({
    id: z.string(),
    vendor: z.string(),
    kind: z.enum(modelKinds),
    tier: z.enum(modelTiers),
    context_window: z.int(),
    max_output_tokens: z.int(),
    price: z.object({
      input_per_mtok: z.number(),
      output_per_mtok: z.number(),
      cached_input_per_mtok: z.number(),
    }),
    capabilities: z.array(z.string()),
    /** Of an embedding model: the length of its vectors. */
    dimensions: z.int().optional(),
    available: z.boolean(),
  }),
);

export function modelRow(
  { id, vendor, kind, tier, price, contextWindow, maxOutputTokens, capabilities, dimensions }: CatalogueModel,
  available: boolean,
): z.input<typeof modelShape> {
  return {
    id,
    vendor,
    kind,
    tier,
    context_window: contextWindow,
    max_output_tokens: maxOutputTokens,
    price: {
      input_per_mtok: price.input_per_mtok,
      output_per_mtok: price.output_per_mtok,
      cached_input_per_mtok: price.cached_input_per_mtok ?? price.input_per_mtok,
    },
    capabilities: [...capabilities],
    ...(dimensions !== undefined && { dimensions }),
    available,
  };
}

export function usageOf(usage: Usage): z.output<typeof usageShape> {
  const [input, output] = [inputTokens(usage), outputTokens(usage)];
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

/**
 * The conversation so far, followed by the query as the user's newest message. `read` is the content of the images and
 * files of the messages.
 */
export function requestOf(body: CallBody, read: readonly ReadPart[]): LlmRequest {
  return {
    messages: [
      ...messagesOf(body.messages, read),
      { role: 'user', content: [{ type: 'text', text: body.query }] },
    ],
    temperature: body.temperature,
    ...(body.max_tokens === undefined ? {} : { maxTokens: body.max_tokens }),
    ...optionsOf(body),
    stream: body.stream,
  };
}

/** Whether a cached answer may serve the call: the caller asked for it, or temperature 0 makes answers alike. */
export function mayRepeat(body: CallBody, cacheControl: string | undefined): boolean {
  if (body.cache === false || /\bno-(?:cache|store)\b/i.test(cacheControl ?? '')) return false;
  return body.cache === true || body.temperature === 0;
}
