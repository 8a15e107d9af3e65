/** The fields of a request of OpenAI's Responses API that work here; the others are refused by name. */
import { z } from 'zod';
import type { FieldRules } from '../body-fields.js';
import { boundedSchema } from '../compat-request.js';

export const bodyRules: FieldRules = {
  known: [
    'model',
    'input',
    'instructions',
    'previous_response_id',
    'store',
    'stream',
    'stream_options',
    'temperature',
    'top_p',
    'max_output_tokens',
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'text',
    'reasoning',
    'include',
    'metadata',
    'truncation',
    'background',
    'top_logprobs',
  ],
  ignored: [
    'user',
    'service_tier',
    'safety_identifier',
    'prompt_cache_key',
    'prompt_cache_retention',
    // Only calls of the vendor's own tools count, and there are none.
    'max_tool_calls',
  ],
  refused: {
    conversation: 'is not supported. Continue with previous_response_id',
    prompt: 'is not supported: there are no stored prompts',
    context_management: 'is not supported',
    moderation: 'is not supported',
  },
};

const effort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
const name = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, underscores or hyphens');
const functionTool = z.object({
  type: z.literal('function'),
  name,
  description: z.string().nullish(),
  parameters: boundedSchema.nullish(),
  strict: z.boolean().nullish(),
});

export const otherTool = 'is not supported: only tools of type function, which the caller runs, are';

const format = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name,
    schema: boundedSchema,
    description: z.string().nullish(),
    strict: z.boolean().nullish(),
  }),
]);

const metadata = z
  .record(z.string().min(1).max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= 16, 'must have at most 16 pairs');

export const responsesBody = z.object({
  model: z.string().min(1).max(200),
  instructions: z.string().nullish(),
  previous_response_id: z.string().min(1).max(100).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  tools: z.array(functionTool).max(128).nullish(),
  tool_choice: z
    .union(
      [z.enum(['none', 'auto', 'required']), z.object({ type: z.literal('function'), name: z.string() })],
      {
        error: 'must be none, auto, required, or {"type": "function", "name": …}',
      },
    )
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  text: z
    .strictObject({
      format: format.nullish(),
      verbosity: z.literal('medium', 'must be medium: other values have no effect here').nullish(),
    })
    .nullish(),
  reasoning: z
    .strictObject({ effort: effort.nullish(), summary: z.enum(['auto', 'concise', 'detailed']).nullish() })
    .nullish(),
  include: z
    .array(z.literal('reasoning.encrypted_content', 'can only be reasoning.encrypted_content'))
    .max(10)
    .nullish(),
  metadata: metadata.nullish(),
  stream_options: z.object({ include_obfuscation: z.boolean().nullish() }).nullish(),
  truncation: z.literal('disabled', 'must be disabled: nothing of the input is left out').nullish(),
  background: z.literal(false, 'must be false: a response is made while the caller waits').nullish(),
  top_logprobs: z.literal(0, 'must be 0: log probabilities are not supported').nullish(),
});

export type ResponsesBody = z.output<typeof responsesBody>;
