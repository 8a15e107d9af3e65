/**
 * The tools that the model may call in a turn: the agent's schemas as it sees them, and the platform's suggestions
 * tool.
 */
import type { Snapshot, SnapshotSchema } from '../../agents/index.js';
import type { ToolDefinition } from '../../llm/index.js';
import { suggestions, suggestionsName } from './quick-replies.js';

type Of<Type extends SnapshotSchema['type']> = Extract<SnapshotSchema, { readonly type: Type }>;
type ServerTool = NonNullable<SnapshotSchema['tools']>[number];

export type TurnTool =
  | { readonly kind: 'api'; readonly schema: Of<'api'> }
  | { readonly kind: 'mcp'; readonly schema: Of<'mcp'>; readonly tool: ServerTool }
  | { readonly kind: 'agent'; readonly schema: Of<'agent'> };

export interface Toolset {
  readonly definitions: readonly ToolDefinition[];
  readonly tools: ReadonlyMap<string, TurnTool>;
}

/** The limits of the strictest vendors. */
const toolsMax = 128;
const nameCharsMax = 64;

/** Snapshots are cached and shared by the turns of an agent, and so are their toolsets. */
const toolsets = new WeakMap<Snapshot, Toolset>();

export function toolsetOf(snapshot: Snapshot, withSuggestions: boolean): Toolset {
  let toolset = toolsets.get(snapshot);
  if (toolset === undefined) {
    toolset = makeToolset(snapshot);
    toolsets.set(snapshot, toolset);
  }
  return withSuggestions ? { ...toolset, definitions: [...toolset.definitions, suggestions] } : toolset;
}

function makeToolset({ schemas }: Snapshot): Toolset {
  const definitions: ToolDefinition[] = [];
  const tools = new Map<string, TurnTool>();
  for (const { name, description, parameters, tool } of schemas.flatMap(offered)) {
    // One place is reserved for the suggestions tool. If two tools have one name in the form that vendors accept,
    // the first stays.
    if (tools.size >= toolsMax - 1 || tools.has(name) || name === suggestionsName) continue;
    tools.set(name, tool);
    definitions.push({
      name,
      ...(description !== '' && { description }),
      parameters: { ...parameters, type: 'object' },
    });
  }
  return { definitions, tools };
}

interface Offered {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly tool: TurnTool;
}

function offered(schema: SnapshotSchema): Offered[] {
  const { name, description, parameters } = schema;
  switch (schema.type) {
    case 'api':
      return [{ name, description, parameters, tool: { kind: 'api', schema } }];
    case 'agent':
      return [{ name, description, parameters: questionOf(parameters), tool: { kind: 'agent', schema } }];
    case 'mcp':
      return (schema.tools ?? [])
        .filter((tool) => schema.editor_schema.mcp.allowed_tools?.includes(tool.name) ?? true)
        .map((tool) => ({
          name: `${name}__${tool.name.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`.slice(0, nameCharsMax),
          description: tool.description,
          parameters: tool.input_schema,
          tool: { kind: 'mcp', schema, tool },
        }));
  }
}

/** A sub-agent without parameters takes a message. */
function questionOf(parameters: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { properties } = parameters;
  if (typeof properties === 'object' && properties !== null && Object.keys(properties).length > 0) {
    return parameters;
  }
  return {
    type: 'object',
    properties: { message: { type: 'string', description: 'What the other agent is asked.' } },
    required: ['message'],
  };
}
