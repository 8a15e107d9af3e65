import { openApiSource, toolFromOpenApi } from '../../../agents/index.js';
import { isJsonObject } from '../../../http/operations/index.js';
import { PlatformError } from '../../../kernel/errors.js';
import { jsonSchemaOf } from '../input-plan.js';
import type { OperationInput, Tool } from '../tool.js';

const agent = { params: { id: 'agent_id' } } as const;
const schema = { params: { id: 'agent_id', schemaId: 'schema_id' } } as const;
const apiTool = { params: { id: 'agent_id', schemaId: 'tool_id' } } as const;
const mcpServer = { params: { id: 'agent_id', schemaId: 'server_id' } } as const;

export const schemaTools: readonly Tool[] = [
  {
    name: 'list_agent_schemas',
    title: 'List schemas of an agent',
    description:
      'Use to see everything that an agent can call: HTTP tools (api), MCP servers (mcp) and sub-agents (agent). Returns each with its id, revision and findings.',
    operation: 'agent-schemas.list',
    hints: 'R',
    ...agent,
  },
  {
    name: 'get_agent_schema',
    title: 'Get a schema',
    description:
      'Use to read one schema of any type with its revision and the findings of the last check. Call it before update_agent_schema.',
    operation: 'agent-schemas.get',
    hints: 'R',
    ...schema,
  },
  {
    name: 'create_agent_schema',
    title: 'Add a schema to an agent',
    description:
      'Use to give an agent a sub-agent (type agent), or any tool in its general form. For HTTP tools and MCP servers prefer create_api_tool and create_mcp_server. Then call validate_agent.',
    operation: 'agent-schemas.create',
    hints: '',
    ...agent,
  },
  {
    name: 'update_agent_schema',
    title: 'Change a schema',
    description:
      'Use to change fields of a schema of any type. Send the revision that you read: if somebody changed it meanwhile, the answer is conflict, and you read it again.',
    operation: 'agent-schemas.update',
    hints: 'I',
    ...schema,
  },
  {
    name: 'delete_agent_schema',
    title: 'Remove a schema',
    description:
      'Use to take a tool, server or sub-agent away from an agent. The published version keeps it until publish_agent is called.',
    operation: 'agent-schemas.delete',
    adminClass: 'delete',
    hints: 'DI',
    ...schema,
  },
];

export const apiTools: readonly Tool[] = [
  {
    name: 'list_api_tools',
    title: 'List HTTP tools',
    description:
      'Use to find the HTTP tools of an agent. Returns each with id, revision and request settings.',
    operation: 'agent-schemas.list',
    permission: 'tools:read',
    fixed: { type: 'api' },
    hints: 'R',
    ...agent,
  },
  {
    name: 'get_api_tool',
    title: 'Get an HTTP tool',
    description:
      'Use to read one HTTP tool: method, URL, headers, parameters. Credentials appear as the name of a secret only. Call it before update_api_tool.',
    operation: 'agent-schemas.get',
    permission: 'tools:read',
    hints: 'R',
    ...apiTool,
    run: ofType('api', 'agent-schemas.get'),
  },
  {
    name: 'create_api_tool',
    title: 'Add an HTTP tool',
    description:
      'Use to let an agent call an HTTP API. Give name, parameters (JSON Schema) and editor_schema.api, or openapi to take them from an operation of an OpenAPI document. Set its auth with update_api_tool; try it with test_api_tool.',
    operation: 'agent-schemas.create',
    permission: 'tools:create',
    variant: 'api',
    hints: '',
    ...agent,
    arguments: {
      openapi: {
        ...jsonSchemaOf(openApiSource, 'input'),
        description:
          'Where the tool comes from; name, description, parameters and editor_schema that are given too replace what the document says.',
      },
    },
    optional: ['name', 'editor_schema'],
    run: (call, input, { openapi }) =>
      call.operation(
        'agent-schemas.create',
        openapi === undefined ? input : { ...input, body: withOpenApi(input.body, openapi) },
      ),
  },
  {
    name: 'update_api_tool',
    title: 'Change an HTTP tool',
    description:
      'Use to change fields of an HTTP tool. Send the revision that you read, so that nobody else’s change is lost. Then call test_api_tool.',
    operation: 'agent-schemas.update',
    permission: 'tools:update',
    omit: ['type'],
    hints: 'I',
    ...apiTool,
    run: ofType('api', 'agent-schemas.update'),
  },
  {
    name: 'test_api_tool',
    title: 'Try an HTTP tool',
    description:
      'Use to see what a tool answers. Makes one real call with the arguments that you give. Returns status, result, and names that the context lacks.',
    operation: 'agent-schemas.test',
    omit: ['tool'],
    hints: 'O',
    ...apiTool,
    run: ofType('api', 'agent-schemas.test'),
  },
  {
    name: 'delete_api_tool',
    title: 'Remove an HTTP tool',
    description:
      'Use to take an HTTP tool away from an agent. The published version keeps it until publish_agent is called.',
    operation: 'agent-schemas.delete',
    permission: 'tools:delete',
    adminClass: 'delete',
    hints: 'DI',
    ...apiTool,
    run: ofType('api', 'agent-schemas.delete'),
  },
];

export const mcpServerTools: readonly Tool[] = [
  {
    name: 'list_mcp_servers',
    title: 'List external MCP servers',
    description:
      'Use to find the MCP servers that an agent may use. Returns each with id, address and last findings.',
    operation: 'agent-schemas.list',
    permission: 'tools:read',
    fixed: { type: 'mcp' },
    hints: 'R',
    ...agent,
  },
  {
    name: 'get_mcp_server',
    title: 'Get an external MCP server',
    description:
      'Use to read one server: address, secret reference, time limit, allowed tools. Call it before update_mcp_server.',
    operation: 'agent-schemas.get',
    permission: 'tools:read',
    hints: 'R',
    ...mcpServer,
    run: ofType('mcp', 'agent-schemas.get'),
  },
  {
    name: 'create_mcp_server',
    title: 'Add an external MCP server',
    description:
      'Use to let an agent use the tools of an MCP server. Then call discover_mcp_server_tools to see its tools, and update_mcp_server to allow some of them.',
    operation: 'agent-schemas.create',
    permission: 'tools:create',
    variant: 'mcp',
    hints: '',
    ...agent,
  },
  {
    name: 'update_mcp_server',
    title: 'Change an external MCP server',
    description:
      'Use to change a server or the list of its allowed tools. Send the revision that you read, so that nobody else’s change is lost.',
    operation: 'agent-schemas.update',
    permission: 'tools:update',
    omit: ['type'],
    hints: 'I',
    ...mcpServer,
    run: ofType('mcp', 'agent-schemas.update'),
  },
  {
    name: 'discover_mcp_server_tools',
    title: 'Read the tools of an MCP server',
    description:
      'Use after create_mcp_server, or when a server changed. Connects and returns its tools, each with whether the agent may use it.',
    operation: 'agent-schemas.discover',
    hints: 'OI',
    ...mcpServer,
    run: ofType('mcp', 'agent-schemas.discover'),
  },
  {
    name: 'delete_mcp_server',
    title: 'Remove an external MCP server',
    description:
      'Use to take a server away from an agent. The published version keeps it until publish_agent is called.',
    operation: 'agent-schemas.delete',
    permission: 'tools:delete',
    adminClass: 'delete',
    hints: 'DI',
    ...mcpServer,
    run: ofType('mcp', 'agent-schemas.delete'),
  },
];

const missing = {
  api: 'The agent has no HTTP tool with this id. list_api_tools shows those that it has.',
  mcp: 'The agent has no MCP server with this id. list_mcp_servers shows those that it has.',
} as const;

/** Refuses a schema of another type before the operation. A schema keeps its type, so the operation meets the same. */
function ofType(type: keyof typeof missing, operation: string): NonNullable<Tool['run']> {
  return async (call, input) => {
    const found = await call.operation('agent-schemas.get', { ...input, query: {}, body: undefined });
    const { data: schema } = found;
    if (!isJsonObject(schema) || schema['type'] !== type) {
      throw new PlatformError('not_found', { message: missing[type] });
    }
    return operation === 'agent-schemas.get' ? found : call.operation(operation, input);
  };
}

/** The body of the operation, with what the document says where the caller says nothing. */
function withOpenApi(body: unknown, source: unknown): OperationInput['body'] {
  const { api, ...described } = toolFromOpenApi(source);
  const given = isJsonObject(body) ? body : {};
  const { editor_schema: editor } = given;
  const ofEditor = isJsonObject(editor) ? editor : {};
  const ofApi = isJsonObject(ofEditor['api']) ? ofEditor['api'] : {};
  return { ...described, ...given, editor_schema: { ...ofEditor, api: { ...api, ...ofApi } } };
}
