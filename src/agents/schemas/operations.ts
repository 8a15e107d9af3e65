import { z } from 'zod';
import {
  named,
  declare,
  done,
  doneShape,
  list,
  listShape,
  one,
  oneShape,
  type Operation,
  tenantUser,
  givenUuid,
} from '../../http/operations/index.js';
import { authorOf } from '../author.js';
import { schemaAnswer, schemaAnswerOf } from './responses.js';
import { schemaDocument, schemaPatch, schemaTypes } from './document.js';
import type { Schemas } from './schemas.js';
import { serverTool } from './schemas.store.js';
import type { ToolTest } from './tool-test.js';

const ofAgent = { params: z.object({ id: givenUuid }), absent: 'agent_not_found' } as const;
/** The look-up checks a schema's id, so that a malformed id is not reported as a missing agent. */
const ofSchema = {
  params: z.object({ id: givenUuid, schemaId: z.string().max(100) }),
  absent: 'agent_not_found',
} as const;

const toolExample = {
  type: 'api',
  name: 'read_order',
  description: 'Reads an order by its number.',
  parameters: {
    type: 'object',
    properties: { number: { type: 'string' } },
    required: ['number'],
  },
  editor_schema: {
    api: {
      url: 'https://api.example.com/orders/${args.number}',
      auth: { type: 'bearer', secret_ref: 'crm-token' },
    },
  },
};

const trialBody = z.object({
  arguments: z.record(z.string(), z.unknown()).default({}).describe('The arguments that a model would send.'),
  context: z.record(z.string(), z.unknown()).default({}).describe('The context that a caller would supply.'),
  tool: z.string().min(1).max(200).optional().describe('The name of the tool, for an MCP server.'),
});

const toolTestResult = named(
  'ToolTestResult',
  z.object({
    status: z.int().nullable().describe('The HTTP status; null for a tool of an MCP server.'),
    is_error: z.boolean(),
    result: z.string().describe('The text that the model would see.'),
    truncated: z.boolean(),
    missing_context: z
      .array(z.string())
      .describe('Names that the tool uses and that the context does not contain.'),
    latency_ms: z.number(),
  }),
);

const discovered = named(
  'DiscoveredTools',
  z.object({
    tools: z.array(serverTool.extend({ allowed: z.boolean() })),
    discovered_at: z.iso.datetime(),
  }),
);

export function schemaOperations(schemas: Schemas, toolTests: ToolTest): readonly Operation[] {
  return [...readingOperations(schemas), ...writingOperations(schemas), ...toolTestOperations(toolTests)];
}

function readingOperations(schemas: Schemas): readonly Operation[] {
  return [
    declare({
      name: 'agent-schemas.list',
      method: 'GET',
      path: '/api/agents/:id/schemas',
      title: "List an agent's schemas: its HTTP tools, MCP servers and sub-agents",
      access: tenantUser('schemas:read'),
      ...ofAgent,
      query: z.object({ type: z.enum(schemaTypes).optional() }),
      output: listShape(schemaAnswer),
      handle: async ({ caller, params, query }) =>
        list((await schemas.list(authorOf(caller), params.id, query.type)).map(schemaAnswerOf)),
    }),
    declare({
      name: 'agent-schemas.get',
      method: 'GET',
      path: '/api/agents/:id/schemas/:schemaId',
      title: 'Get one schema with the findings of the last check',
      access: tenantUser('schemas:read'),
      ...ofSchema,
      output: oneShape(schemaAnswer),
      errors: ['not_found'],
      handle: async ({ caller, params }) =>
        one(schemaAnswerOf(await schemas.get(authorOf(caller), params.id, params.schemaId))),
    }),
  ];
}

function writingOperations(schemas: Schemas): readonly Operation[] {
  return [
    declare({
      name: 'agent-schemas.create',
      method: 'POST',
      audit: 'agent-schemas.create',
      idempotency: 'made',
      path: '/api/agents/:id/schemas',
      title: 'Add a schema to an agent',
      description:
        'Its secrets, its address and its JSON Schema are checked when the agent is validated or published.',
      access: tenantUser('schemas:create'),
      ...ofAgent,
      body: schemaDocument,
      shown: { bodyExample: toolExample },
      output: oneShape(schemaAnswer),
      status: 201,
      errors: ['conflict'],
      handle: async ({ caller, params, body }) =>
        one(schemaAnswerOf(await schemas.create(authorOf(caller), params.id, body))),
    }),
    declare({
      name: 'agent-schemas.update',
      method: 'PATCH',
      audit: 'agent-schemas.update',
      path: '/api/agents/:id/schemas/:schemaId',
      title: 'Change a schema',
      description:
        'A JSON Merge Patch (RFC 7396) of the working copy. A published agent keeps running its published version.',
      access: tenantUser('schemas:update'),
      ...ofSchema,
      body: schemaPatch,
      output: oneShape(schemaAnswer),
      errors: ['not_found', 'conflict'],
      handle: async ({ caller, params, body: { revision, ...patch } }) =>
        one(
          schemaAnswerOf(await schemas.update(authorOf(caller), params.id, params.schemaId, patch, revision)),
        ),
    }),
    declare({
      name: 'agent-schemas.delete',
      method: 'DELETE',
      audit: 'agent-schemas.delete',
      path: '/api/agents/:id/schemas/:schemaId',
      title: 'Remove a schema',
      access: tenantUser('schemas:delete'),
      ...ofSchema,
      output: doneShape,
      errors: ['not_found', 'conflict'],
      handle: async ({ caller, params }) => {
        const { document } = await schemas.delete(authorOf(caller), params.id, params.schemaId);
        return done(`The schema ${document.name} was removed.`);
      },
    }),
  ];
}

function toolTestOperations(toolTests: ToolTest): readonly Operation[] {
  return [
    declare({
      name: 'agent-schemas.test',
      method: 'POST',
      audit: { exempt: 'a check that changes nothing' },
      path: '/api/agents/:id/schemas/:schemaId/test',
      title: 'Call a tool once with sample arguments',
      description: 'The call is real. An error status of the tool is returned as a result, not as an error.',
      access: tenantUser('tools:update'),
      ...ofSchema,
      body: trialBody,
      output: oneShape(toolTestResult),
      errors: ['not_found', 'provider_error', 'provider_timeout'],
      handle: async ({ caller, params, body, signal }) => {
        const request = { args: body.arguments, context: body.context, tool: body.tool };
        const found = await toolTests.test(authorOf(caller), params.id, params.schemaId, request, signal);
        const { status, failed, result, truncated, missing, latencyMs } = found;
        return one({
          status,
          is_error: failed,
          result,
          truncated,
          missing_context: [...missing],
          latency_ms: latencyMs,
        });
      },
    }),
    declare({
      name: 'agent-schemas.discover',
      method: 'POST',
      audit: { exempt: 'a reading that changes nothing' },
      path: '/api/agents/:id/schemas/:schemaId/discover',
      title: 'Ask an MCP server for its tools',
      access: tenantUser('tools:update'),
      ...ofSchema,
      output: oneShape(discovered),
      errors: ['not_found', 'provider_error', 'provider_timeout'],
      handle: async ({ caller, params, signal }) => {
        const author = authorOf(caller);
        const { server, tools, at } = await toolTests.discover(author, params.id, params.schemaId, signal);
        return one({
          tools: tools.map((tool) => ({
            ...tool,
            allowed: server.allowed_tools?.includes(tool.name) ?? true,
          })),
          discovered_at: at.toISOString(),
        });
      },
    }),
  ];
}
