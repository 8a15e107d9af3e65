import { z } from 'zod';

/** JSON Schema of what a request may send. It takes no name that the schema does not have, as requests are refused for one. */
export function closedSchemaOf(schema: z.ZodType): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-2020-12',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      if (def.type === 'object' && def.catchall === undefined) jsonSchema.additionalProperties = false;
    },
  });
}
