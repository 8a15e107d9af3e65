import { describedTypes } from '../../automation/index.js';
import { closedSchemaOf, type OperationTable } from '../../http/operations/index.js';
import type { JsonSchema } from '../tools/tool.js';
import type { Document } from './document.js';

/** JSON Schemas of the input of tools and endpoints, made from the shapes that check it. */
export function schemaDocuments(table: OperationTable): readonly Document[] {
  const entry = bodyOf(table, 'agent-schemas.create');
  return [
    schema('agent', 'Agent', 'The body of an agent.', bodyOf(table, 'agents.create')),
    schema('agent-schema', 'Schema of an agent', 'An entry of each type: api, mcp, agent.', entry),
    schema('api-tool', 'HTTP tool', 'An entry of type api.', variantOf(entry, 'api')),
    schema('mcp-server', 'External MCP server', 'An entry of type mcp.', variantOf(entry, 'mcp')),
    ...describedTypes().toSorted(inListedOrder).map(trigger),
    schema(
      'database-config',
      'Database configuration',
      'The body of a database configuration.',
      bodyOf(table, 'databases.create'),
    ),
  ];
}

function bodyOf(table: OperationTable, name: string): JsonSchema {
  const { body } = table.named(name);
  if (body === undefined) throw new Error(`the operation ${name} has no body`);
  const { $schema: _, ...schema } = closedSchemaOf(body);
  return schema;
}

function variantOf(schema: JsonSchema, type: string): JsonSchema {
  const variants = (schema['oneOf'] ?? schema['anyOf'] ?? []) as readonly JsonSchema[];
  const found = variants.find(({ properties }) => {
    const { type: named } = properties as { readonly type?: JsonSchema };
    return named?.['const'] === type;
  });
  if (found === undefined) throw new Error(`there is no schema entry of type ${type}`);
  return found;
}

type DescribedType = ReturnType<typeof describedTypes>[number];

/** The order in which the specification lists these resources. A type that is not named here comes last. */
const listedTypes: readonly string[] = ['webhook', 'schedule', 'email', 'db_event'];

function inListedOrder({ type: one }: DescribedType, { type: other }: DescribedType): number {
  const placeOf = (type: string): number =>
    listedTypes.includes(type) ? listedTypes.indexOf(type) : listedTypes.length;
  return placeOf(one) - placeOf(other);
}

function trigger({ type, title, config_schema }: DescribedType): Document {
  const description = `The trigger_config of a trigger of type ${type}.`;
  return schema(`trigger-${type.replace('_', '-')}`, title, description, config_schema);
}

function schema(name: string, title: string, description: string, content: JsonSchema): Document {
  const text = JSON.stringify({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...content });
  return {
    uri: `platform://schemas/${name}`,
    name: `schema-${name}`,
    title,
    description,
    mimeType: 'application/schema+json',
    read: () => text,
  };
}
