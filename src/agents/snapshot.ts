import { z } from 'zod';
import { type AgentDocument, storedDocument } from './document.js';
import type { SchemaDocument } from './schemas/document.js';
import { type SchemaRow, serverTool, type ServerTool } from './schemas/schemas.store.js';

/** A tool as a version holds it. */
export type SnapshotSchema = SchemaDocument & {
  readonly id: string;
  /** What an MCP server could do when the version was made; null where nobody has asked it. */
  readonly tools: readonly ServerTool[] | null;
};

/** What a version holds: the agent's content and its schemas, as one document. */
export type Snapshot = AgentDocument & { readonly schemas: readonly SnapshotSchema[] };

const storedSchemas = z.object({
  schemas: z
    .array(z.looseObject({ id: z.uuid(), tools: z.array(serverTool).nullable() }))
    .transform((schemas) => schemas as unknown)
    .pipe(z.custom<readonly SnapshotSchema[]>()),
});

/** As stored. Of schemas only what this code itself added to them is looked at. */
export const storedSnapshot = z
  .record(z.string(), z.unknown())
  .transform((value): Snapshot => ({ ...storedDocument.parse(value), ...storedSchemas.parse(value) }));

export function snapshotOf(document: AgentDocument, schemas: readonly SchemaRow[]): Snapshot {
  return {
    ...document,
    schemas: schemas.map((row) => ({ id: row.id, ...row.document, tools: row.tools })),
  };
}

/** The agent's content alone. */
export function documentOf(snapshot: Snapshot): AgentDocument {
  const { schemas: _, ...document } = snapshot;
  return document;
}

/** A schema's content alone. */
export function schemaDocumentOf(schema: SnapshotSchema): SchemaDocument {
  const { id: _, tools: __, ...document } = schema;
  return document;
}
