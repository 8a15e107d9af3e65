/** What a native call may ask of the model besides its messages, in OpenAI's form. */
import { z } from 'zod';
import type { LlmRequest } from '../../llm/index.js';
import { responseFormatShape, schemaFormatOf } from '../response-format/index.js';
import { named } from '../../http/operations/index.js';

const toolsMax = 128;
const toolBytesMax = 64 * 1024;
const stopsMax = 16;

const toolName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, underscores or hyphens' });

const tool = named(
  'ToolDefinition',
  z.object({
    type: z.literal('function'),
    function: z.object({
      name: toolName,
      description: z.string().max(10_000).nullish(),
      parameters: z
        .record(z.string(), z.unknown())
        .refine((schema) => Buffer.byteLength(JSON.stringify(schema)) <= toolBytesMax, {
          error: `must have at most ${toolBytesMax} bytes as JSON`,
        })
        .nullish(),
      strict: z.boolean().nullish().describe('Whether the arguments must fit the parameters exactly.'),
    }),
  }),
);

export const nativeOptions = {
  response_format: responseFormatShape.nullish(),
  tools: z.array(tool).max(toolsMax).nullish(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.object({ type: z.literal('function'), function: z.object({ name: toolName }) }),
    ])
    .nullish(),
  reasoning: z.object({ effort: z.enum(['none', 'minimal', 'low', 'medium', 'high']) }).nullish(),
  seed: z.int().nullish(),
  stop: z.union([z.string().min(1).max(500), z.array(z.string().min(1).max(500)).max(stopsMax)]).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
};

type Options = z.output<z.ZodObject<typeof nativeOptions>>;

export function optionsOf(given: Options): Partial<LlmRequest> {
  const { tools, tool_choice: choice, reasoning, seed, stop, top_p: topP, response_format: format } = given;
  const hasTools = tools != null && tools.length > 0;
  return {
    ...(hasTools && {
      tools: tools.map(({ function: { name, description, parameters, strict } }) => ({
        name,
        ...(description != null && { description }),
        parameters: parameters ?? { type: 'object', properties: {} },
        ...(strict != null && { strict }),
      })),
    }),
    ...(hasTools &&
      choice != null && { toolChoice: typeof choice === 'string' ? choice : { name: choice.function.name } }),
    ...(reasoning != null && {
      reasoningEffort: reasoning.effort === 'minimal' ? ('low' as const) : reasoning.effort,
    }),
    ...(seed != null && { seed }),
    ...(stop != null && { stop: typeof stop === 'string' ? [stop] : stop }),
    ...(topP != null && { topP }),
    ...(format != null && { responseFormat: schemaFormatOf(format) }),
  };
}
