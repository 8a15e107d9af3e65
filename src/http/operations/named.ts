import { z } from 'zod';

/** The names of schemas in the documents. Names of zod's own registry would also reach the schemas of the MCP tools. */
const names = new WeakMap<z.core.$ZodType, string>();

/** Gives a schema a name, under which the documents describe it once and refer to it. */
export function named<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  names.set(schema, name);
  return schema;
}

export function nameOf(schema: z.core.$ZodType): string | undefined {
  return names.get(schema);
}

const sentForms = new WeakMap<z.core.$ZodType, z.ZodType>();

/** An object of an answer that the documents describe in the form in which requests send it: without defaults. */
export function asSent(schema: z.ZodType): z.ZodRecord<z.ZodString, z.ZodUnknown> {
  const kept = z.record(z.string(), z.unknown());
  sentForms.set(kept, schema);
  return kept;
}

export function sentFormOf(schema: z.core.$ZodType): z.ZodType | undefined {
  return sentForms.get(schema);
}
