import { z } from 'zod';
import { schemaTypes } from './document.js';
import { issue, type SchemaRow, serverTool } from './schemas.store.js';
import { named } from '../../http/operations/index.js';

const moment = z.iso.datetime();

export const schemaAnswer = named(
  'AgentTool',
  z.object({
    id: z.uuid(),
    name: z.string(),
    description: z.string(),
    type: z.enum(schemaTypes),
    parameters: z.record(z.string(), z.unknown()),
    editor_schema: z.record(z.string(), z.unknown()),
    revision: z
      .int()
      .describe('Rises with every change. Send it with a change to prevent overwriting a newer one.'),
    validation: z
      .object({
        state: z.enum(['unchecked', 'valid', 'invalid']),
        checked_at: moment.nullable(),
        issues: z.array(issue),
      })
      .describe('The findings of the last publication for this revision.'),
    tools: z
      .array(serverTool)
      .nullable()
      .describe(
        'The tools that the MCP server last listed. Null for other types, and before the server was asked.',
      ),
    tools_read_at: moment.nullable(),
    created_by: z.uuid().nullable(),
    created_at: moment,
    updated_at: moment,
  }),
);

export function schemaAnswerOf(row: SchemaRow): z.input<typeof schemaAnswer> {
  const { name, description, type, parameters, editor_schema } = row.document;
  const unchecked = row.issues === null;
  const issues = row.issues ?? [];
  return {
    id: row.id,
    name,
    description,
    type,
    parameters,
    editor_schema,
    revision: row.revision,
    validation: {
      state: unchecked ? 'unchecked' : issues.length === 0 ? 'valid' : 'invalid',
      checked_at: row.checked_at?.toISOString() ?? null,
      issues,
    },
    tools: row.tools,
    tools_read_at: row.tools_read_at?.toISOString() ?? null,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
