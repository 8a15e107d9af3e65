import { z } from 'zod';
import { type AgentDocument, storedDocument } from './document.js';
import type { SchemaDocument } from './schemas/document.js';
import { type SchemaRow, serverTool, type ServerTool } from './schemas/schemas.store.js';

/** A tool as a version stores it. */
export type SnapshotSchema = SchemaDocument & {
  readonly id: string;
  /** The tools of an MCP server when the version was created; null if the server was never asked. */
  readonly tools: readonly ServerTool[] | null;
};

/** The content of a version: the agent and its schemas, as one document. */
export type Snapshot = AgentDocument & { readonly schemas: readonly SnapshotSchema[] };

const storedSchemas = z.object({
  schemas: z
    .array(z.looseObject({ id: z.uuid(), tools: z.array(serverTool).nullable() }))
    .transform((schemas) => schemas as unknown)
    .pipe(z.custom<readonly SnapshotSchema[]>()),
});

/** The stored form. Of the schemas, only the fields that this code added are validated. */
export const storedSnapshot = z
  .record(z.string(), z.unknown())
  .transform((value): Snapshot => ({ ...storedDocument.parse(value), ...storedSchemas.parse(value) }));

export function snapshotOf(document: AgentDocument, schemas: readonly SchemaRow[]): Snapshot {
  return {
    ...document,
    schemas: schemas.map((row) => ({ id: row.id, ...row.document, tools: row.tools })),
  };
}

/** The agent's content without its schemas. */
export function documentOf(snapshot: Snapshot): AgentDocument {
  const { schemas: _, ...document } = snapshot;
  return document;
}

/** The schema's content without the fields that a version adds. */
export function schemaDocumentOf(schema: SnapshotSchema): SchemaDocument {
  const { id: _, tools: __, ...document } = schema;
  return document;
}
