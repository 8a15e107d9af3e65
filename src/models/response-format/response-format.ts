import { z } from 'zod';
import { invalidField } from '../../kernel/errors.js';
import type { ResponseFormat } from '../../llm/index.js';
import { named } from '../../http/operations/index.js';

/** Vendors take a few dozen kilobytes, and models use less well. */
const schemaBytesMax = 64 * 1024;

/** `response_format` of native calls, agents and turns, in OpenAI's form. */
export const responseFormatShape = named(
  'ResponseFormat',
  z
    .object({
      type: z.literal('json_schema'),
      json_schema: z.object({
        name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, {
          error: 'must be 1 to 64 letters, digits, underscores or hyphens',
        }),
        schema: z
          .record(z.string(), z.unknown())
          .refine((schema) => Buffer.byteLength(JSON.stringify(schema)) <= schemaBytesMax, {
            error: `must have at most ${schemaBytesMax} bytes as JSON`,
          }),
        strict: z.boolean().nullish(),
      }),
    })
    .describe('The JSON Schema (2020-12) that the answer must fit. `response` then also carries `parsed`.'),
);

export type GivenResponseFormat = z.output<typeof responseFormatShape>;
export type SchemaFormat = Extract<ResponseFormat, { type: 'json_schema' }>;

export function schemaFormatOf({ json_schema: { name, schema, strict } }: GivenResponseFormat): SchemaFormat {
  return { type: 'json_schema', name, schema, ...(strict != null && { strict }) };
}

/** Reads a format from a body that is not parsed by a schema; throws with the path of the field. */
export function readResponseFormat(value: unknown, field: string): GivenResponseFormat {
  const read = responseFormatShape.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw invalidField([field, ...(issue?.path ?? [])].join('.'), issue?.message ?? 'is not valid');
}
