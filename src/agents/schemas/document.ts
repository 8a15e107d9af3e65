import { z } from 'zod';
import { invalidField } from '../../kernel/errors.js';
import { named, type JsonObject, mergePatch, validate } from '../../http/operations/index.js';
import { apiTool, approval, mcpServer, subAgent } from './editor-schema.js';

export const schemaTypes = ['api', 'mcp', 'agent'] as const;
export type SchemaType = (typeof schemaTypes)[number];

const parametersBytesMax = 64 * 1024;
const reservedNames = new Set(['suggest_quick_replies']);

/**
 * Vendors accept names of at most 64 letters, digits, `_` and `-`. `__` separates the name of an MCP server from
 * its tool, so no name may contain it.
 */
const name = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, {
    error: "must be 1 to 64 letters, digits, '_' or '-', the first a letter",
  })
  .refine((text) => !text.includes('__'), "must not contain '__'")
  .refine((text) => !reservedNames.has(text), 'is the name of a built-in tool')
  .describe('Unique in the agent. The model calls the tool by this name.');

const common = {
  name,
  description: z.string().max(4_000).default('').describe('The description of the tool for the model.'),
  parameters: z
    .record(z.string(), z.unknown())
    .refine(
      (value) => Buffer.byteLength(JSON.stringify(value)) <= parametersBytesMax,
      `must have at most ${parametersBytesMax} bytes as JSON`,
    )
    .default({ type: 'object', properties: {} })
    .describe('JSON Schema (2020-12) of the arguments. Checked when the agent is validated or published.'),
};

/** The complete content of a schema. */
export const schemaDocument = named(
  'NewAgentTool',
  z.discriminatedUnion('type', [
    z.object({
      type: z.literal('api'),
      ...common,
      editor_schema: z.strictObject({ api: apiTool, approval }),
    }),
    z.object({
      type: z.literal('mcp'),
      ...common,
      // Leaves space for `__` and the names of the server's tools.
      name: name.max(32),
      editor_schema: z.strictObject({ mcp: mcpServer, approval }),
    }),
    z.object({
      type: z.literal('agent'),
      ...common,
      editor_schema: z.strictObject({ agent: subAgent, approval }),
    }),
  ]),
);

export type SchemaDocument = z.output<typeof schemaDocument>;

/** The patch as received; the merged document is validated as a whole. */
export const schemaPatch = named(
  'AgentToolPatch',
  z
    .object({
      revision: z
        .int()
        .min(1)
        .optional()
        .describe(
          'The revision that the client read. If the schema has another revision now, nothing is written.',
        ),
      name: z.string().optional(),
      description: z.string().nullish(),
      type: z.enum(schemaTypes).optional().describe('Cannot be changed.'),
      parameters: z.record(z.string(), z.unknown()).nullish(),
      editor_schema: z.record(z.string(), z.unknown()).optional(),
    })
    .describe('A JSON Merge Patch (RFC 7396).'),
);

export function patchedSchema(document: SchemaDocument, patch: JsonObject): SchemaDocument {
  if (patch['type'] !== undefined && patch['type'] !== document.type) {
    throw invalidField('type', `cannot be changed: the schema is of type ${document.type}`);
  }
  return validate(schemaDocument, mergePatch(document, patch)) as SchemaDocument;
}
