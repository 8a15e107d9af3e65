/** The answers of OpenAI's chat completions and embeddings, as the documents show them. */
import { z } from 'zod';
import { named } from '../../../http/operations/index.js';

const count = z.int().min(0);

const usage = named(
  'ChatUsage',
  z.looseObject({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    prompt_tokens_details: z
      .looseObject({ cached_tokens: count.optional(), cache_write_tokens: count.optional() })
      .optional(),
    completion_tokens_details: z.looseObject({ reasoning_tokens: count.optional() }).optional(),
  }),
);

const toolCall = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']);
const head = { id: z.string(), created: z.int(), model: z.string() };

export const chatCompletionShape = named(
  'ChatCompletion',
  z
    .looseObject({
      ...head,
      object: z.literal('chat.completion'),
      choices: z.array(
        z.looseObject({
          index: count,
          message: z.looseObject({
            role: z.literal('assistant'),
            content: z.string().nullable(),
            refusal: z.string().nullable(),
            tool_calls: z.array(toolCall).optional(),
            reasoning_content: z.string().optional().describe('What the model thought, where it says it.'),
          }),
          finish_reason: finishReason,
        }),
      ),
      usage,
    })
    .describe('Fields of a vendor that speaks this format itself are passed on.'),
);

/** The stream ends with the line `data: [DONE]`. */
export const chatChunkShape = named(
  'ChatCompletionChunk',
  z
    .looseObject({
      ...head,
      object: z.literal('chat.completion.chunk'),
      choices: z.array(
        z.looseObject({
          index: count,
          delta: z.looseObject({
            role: z.literal('assistant').optional(),
            content: z.string().nullish(),
            refusal: z.string().nullish(),
            reasoning_content: z.string().optional(),
            tool_calls: z
              .array(
                z.looseObject({
                  index: count,
                  id: z.string().optional(),
                  type: z.literal('function').optional(),
                  function: z
                    .looseObject({ name: z.string().optional(), arguments: z.string().optional() })
                    .optional(),
                }),
              )
              .optional(),
          }),
          finish_reason: finishReason.nullable(),
        }),
      ),
      usage: usage.nullish().describe('In the last chunk, with `stream_options.include_usage`.'),
    })
    .describe('One chunk of a stream, which ends with the line `data: [DONE]`.'),
);

export const chatStreamExample =
  'data: {"id":"chatcmpl-5f1c","object":"chat.completion.chunk","created":1795426200,"model":"sim.echo","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"logprobs":null,"finish_reason":null}]}\n\n' +
  'data: {"id":"chatcmpl-5f1c","object":"chat.completion.chunk","created":1795426200,"model":"sim.echo","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}\n\n' +
  'data: [DONE]\n\n';

const token = z.int().min(0);

export const embeddingsRequestShape = named(
  'EmbeddingsRequest',
  z.object({
    model: z.string().min(1).max(200),
    input: z.union([z.string(), z.array(z.string()), z.array(token), z.array(z.array(token))]),
    dimensions: z.int().min(1).max(16_384).nullish(),
    encoding_format: z.enum(['float', 'base64']).nullish(),
    user: z.string().nullish().describe('Without effect.'),
  }),
);

export const embeddingsShape = named(
  'Embeddings',
  z.looseObject({
    object: z.literal('list'),
    data: z.array(
      z.looseObject({
        object: z.literal('embedding'),
        index: count,
        embedding: z
          .union([z.array(z.number()), z.string()])
          .describe('Numbers, or with `encoding_format` `base64` their bytes.'),
      }),
    ),
    model: z.string(),
    usage: z.looseObject({ prompt_tokens: count, total_tokens: count }),
  }),
);

export const openAiModelShape = named(
  'OpenAiModel',
  z.looseObject({
    id: z.string(),
    object: z.literal('model'),
    created: z.int(),
    owned_by: z.string(),
  }),
);
