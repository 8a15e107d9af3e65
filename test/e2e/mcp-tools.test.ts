// What single tools of MCP take and answer beyond the endpoint that they mirror.
import test from 'ava';
import { eras, mcpClient, structured } from '../support/clients/mcp.js';
import { type McpNode, startMcpNode } from '../support/servers/mcp-node.js';
import type { TestNode } from '../support/servers/node.js';

const undo: (() => Promise<void>)[] = [];
let served: McpNode;
let node: TestNode;

test.before(async () => {
  served = await startMcpNode({ teardown: (step) => void undo.push(step) });
  node = served.node;
});

test.after.always(async () => {
  for (const step of undo.toReversed()) await step();
});

test.serial('no tool takes a database password, only the name of a secret', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const { tools } = await client.listTools();
  const place = { host: '127.0.0.1', database: 'shop', username: 'shop' };
  const password = 'sk-planted-password';
  for (const [name, field, args] of [
    [
      'create_database_config',
      'connection_config.password',
      { name: 'shop', connection_config: { ...place, password } },
    ],
    [
      'update_database_config',
      'connection_config.password',
      { config_id: '018f0000-0000-7000-8000-000000000001', connection_config: { password } },
    ],
    ['test_database_connection', 'password', { ...place, password }],
    ['discover_database_schema', 'password', { ...place, password }],
  ] as const) {
    const refused = await client.callTool({ name, arguments: { ...args } });
    t.true(refused.isError, name);
    t.like(structured(refused), { error: 'validation_error', details: { field } }, name);
    const { inputSchema } = tools.find((tool) => tool.name === name) ?? {};
    t.false(JSON.stringify(inputSchema).includes('"password":'), name);
    t.true(JSON.stringify(inputSchema).includes('"password_secret_ref":'), name);
  }
  const listed = await client.callTool({ name: 'list_database_configs', arguments: {} });
  t.deepEqual(structured(listed)['data'], []);
});

test.serial('an HTTP tool comes from an operation of an OpenAPI document', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const call = async (name: string, args: object) =>
    structured(await client.callTool({ name, arguments: { agent_id: node.bootstrap.agent_id, ...args } }));
  const document = {
    openapi: '3.0.3',
    servers: [{ url: 'https://api.example.com/v1' }],
    paths: {
      '/orders/{id}': {
        get: {
          operationId: 'readOrder',
          summary: 'Reads an order.',
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        },
      },
    },
  };
  const made = await call('create_api_tool', {
    openapi: { document, operation_id: 'readOrder' },
    name: 'order',
  });
  t.like(made['data'], {
    type: 'api',
    name: 'order',
    description: 'Reads an order.',
    parameters: {
      type: 'object',
      properties: { id: { type: 'string' } },
      required: ['id'],
      additionalProperties: false,
    },
    editor_schema: { api: { method: 'GET', url: 'https://api.example.com/v1/orders/${args.id}' } },
  });
  const unknown = await call('create_api_tool', { openapi: { document, operation_id: 'readOrdr' } });
  t.like(unknown, { error: 'validation_error', details: { field: 'openapi.operation_id' } });
  t.regex(String(unknown['message']), /Did you mean "readOrder"/);
  const empty = await call('create_api_tool', { name: 'order' });
  t.like(empty, { error: 'missing_required_field', details: { field: 'editor_schema' } });
  await call('delete_api_tool', { tool_id: (made['data'] as { id: string }).id });
});

test.serial('a tool of one type neither shows nor changes a schema of another', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const call = async (name: string, args: object) =>
    structured(await client.callTool({ name, arguments: { agent_id: node.bootstrap.agent_id, ...args } }));
  const idOf = (answer: Record<string, unknown>) => (answer['data'] as { id: string }).id;
  const api = { name: 'orders', editor_schema: { api: { url: 'https://api.example.com/orders' } } };
  const mcp = { name: 'files', editor_schema: { mcp: { url: 'https://mcp.example.com/mcp' } } };
  const helper = { name: 'helper', editor_schema: { agent: { agent_id: node.bootstrap.agent_id } } };
  const ids = {
    api: idOf(await call('create_api_tool', api)),
    mcp: idOf(await call('create_mcp_server', mcp)),
    agent: idOf(await call('create_agent_schema', { ...helper, type: 'agent' })),
  };
  const read = () => Promise.all(Object.values(ids).map((id) => call('get_agent_schema', { schema_id: id })));
  const before = await read();
  const args = { arguments: {}, description: 'Another.' };
  for (const [tools, given] of [
    [['get_api_tool', 'update_api_tool', 'test_api_tool', 'delete_api_tool'], 'tool_id'],
    [['get_mcp_server', 'update_mcp_server', 'discover_mcp_server_tools', 'delete_mcp_server'], 'server_id'],
  ] as const) {
    const foreign = given === 'tool_id' ? [ids.mcp, ids.agent] : [ids.api, ids.agent];
    for (const name of tools) {
      const { inputSchema } = (await client.listTools()).tools.find((tool) => tool.name === name) ?? {};
      const taken = Object.entries(args).filter(([field]) => field in (inputSchema?.properties ?? {}));
      for (const id of foreign) {
        const refused = await call(name, { [given]: id, ...Object.fromEntries(taken) });
        t.like(refused, { error: 'not_found', status: 'error' }, name);
      }
    }
  }
  t.deepEqual(await read(), before);
  t.like(await call('get_api_tool', { tool_id: ids.api }), { data: { type: 'api' } });
  const changed = await call('update_mcp_server', { server_id: ids.mcp, description: 'Reads files.' });
  t.like(changed, { data: { type: 'mcp', description: 'Reads files.' } });
  t.is((await call('delete_api_tool', { tool_id: ids.api }))['success'], true);
  t.is((await call('delete_mcp_server', { server_id: ids.mcp }))['success'], true);
  t.is((await call('delete_agent_schema', { schema_id: ids.agent }))['success'], true);
});

test.serial('figures of triggers come for each trigger, in pages', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const call = async (name: string, args: object) =>
    structured(await client.callTool({ name, arguments: { ...args } }));
  const trigger = (name: string) =>
    call('create_trigger', {
      agent_id: node.bootstrap.agent_id,
      name,
      trigger_type: 'webhook',
      trigger_config: {},
    });
  const [one, other] = [await trigger('busy'), await trigger('idle')].map(
    ({ data }) => (data as { id: string }).id,
  );
  t.is((await call('invoke_trigger', { trigger_id: one, message: 'hello' }))['status'], 200);
  const page = await call('get_trigger_stats', { limit: 1 });
  t.like(page, { triggers: [{ id: other, name: 'idle', success_rate_pct: 0 }] });
  t.true((page['data'] as { total: number }).total >= 2);
  const next = await call('get_trigger_stats', { limit: 1, cursor: page['next_cursor'] });
  const executions = { total: 1, completed: 1, failed: 0 };
  t.like(next, { triggers: [{ id: one, enabled: true, executions, success_rate_pct: 100 }] });
  for (const id of [one, other]) await call('delete_trigger', { trigger_id: id });
});

test.serial('a contact is erased as a whole only if the caller says so', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const call = async (name: string, args: object) =>
    structured(await client.callTool({ name, arguments: { ...args } }));
  const key = '+49 171/555 %';
  const said = { agent_id: node.bootstrap.agent_id, message: 'hello', consumer_key: key };
  await call('chat_with_agent', said);
  const forgotten = await call('delete_consumer_memory', { consumer_key: key });
  t.is(forgotten['success'], true);
  t.like(await call('get_consumer', { consumer_key: key }), {
    data: { consumer_key: key, total_sessions: 1 },
  });
  const unclear = await call('delete_consumer_memory', { consumer_key: key, whole_contact: 'yes' });
  t.like(unclear, { error: 'validation_error', details: { field: 'whole_contact' } });
  t.like(await call('delete_consumer_memory', { consumer_key: key, whole_contact: true }), {
    success: true,
    data: { sessions: 1, messages: 2, executions: 1 },
  });
  t.like(await call('get_consumer', { consumer_key: key }), { error: 'not_found' });
});

test.serial('the message of a refusal and the next step are sentences of their own', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const refused = await client.callTool({
    name: 'chat_with_agent',
    arguments: { agent_id: node.bootstrap.agent_id },
  });
  t.regex(String(structured(refused)['message']), /^message: is required\. Correct the named argument/);
});

test.serial('a tool without the id that it needs names the argument', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const call = async (name: string, args: object) =>
    structured(await client.callTool({ name, arguments: { ...args } }));
  for (const [name, args, field] of [
    ['get_agent', {}, 'agent_id'],
    ['get_agent_schema', { agent_id: node.bootstrap.agent_id }, 'schema_id'],
    ['get_consumer', {}, 'consumer_key'],
    ['get_api_key', {}, 'key_id'],
    ['update_secret', { value: 'planted' }, 'secret_id'],
  ] as const) {
    t.like(await call(name, args), { details: { field, issue: 'required' } }, name);
  }
  t.is((await call('get_agent', {}))['error'], 'missing_required_field');
  const chat = await call('chat_with_agent', { message: 'hello' });
  t.like(chat, { error: 'VALIDATION_ERROR', details: { field: 'agent_id' } });
  // A malformed id names nothing that exists.
  t.like(await call('get_agent', { agent_id: 'x' }), { error: 'agent_not_found' });
});

test.serial('an argument of another type than its schema says is refused with its name', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const call = async (name: string, args: object) =>
    structured(await client.callTool({ name, arguments: { ...args } }));
  await call('chat_with_agent', {
    agent_id: node.bootstrap.agent_id,
    message: 'hello',
    consumer_key: 'typed',
  });
  const unclear = await call('get_consumer', { consumer_key: 'typed', include_memory: 'yes' });
  t.like(unclear, { error: 'validation_error', details: { field: 'include_memory' } });
  t.true('memory' in (await call('get_consumer', { consumer_key: 'typed', include_memory: true })));
  const made = await call('create_trigger', {
    agent_id: node.bootstrap.agent_id,
    name: 'typed',
    trigger_type: 'webhook',
    trigger_config: {},
  });
  const { id } = made['data'] as { id: string };
  for (const payload of ['text', 5, ['text'], null]) {
    const refused = await call('invoke_trigger', { trigger_id: id, message: 'hello', payload });
    t.like(refused, { error: 'VALIDATION_ERROR', details: { field: 'payload' } });
  }
  await call('delete_trigger', { trigger_id: id });
});

test.serial(
  'arguments that no text may have are an error of the tool, and the turn does not run',
  async (t) => {
    for (const era of eras) {
      const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key, { era });
      for (const message of ['half \ud800', 'nul \0']) {
        const args = { agent_id: node.bootstrap.agent_id, message };
        const refused = await client.callTool({ name: 'chat_with_agent', arguments: args });
        t.true(refused.isError);
        t.like(structured(refused), { error: 'VALIDATION_ERROR', details: { field: 'message' } });
      }
      const listed = await client.callTool({ name: 'list_sessions', arguments: { search: '\0' } });
      t.like(structured(listed), { error: 'validation_error', details: { field: 'search' } });
    }
    const headers = { 'x-api-key': node.bootstrap.api_key, accept: 'application/json, text/event-stream' };
    const misplaced = await fetch(`${node.node.baseUrl}/mcp`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: String.raw`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"\u0000"}}`,
    });
    t.is(misplaced.status, 400);
    t.like(await misplaced.json(), { id: 7, error: { code: -32_602 } });
  },
);

test.serial('a chat drops the names that reach a prototype, and reports them as reserved', async (t) => {
  for (const era of eras) {
    const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key, { era });
    const args = JSON.parse(
      `{"agent_id":"${node.bootstrap.agent_id}","message":"hello","__proto__":{"consumer_key":"planted"},` +
        '"context":{"__proto__":{"a":1},"constructor":{},"city":"Lima"},"bindings":{"prototype":[1]}}',
    ) as Record<string, unknown>;
    const answer = structured(await client.callTool({ name: 'chat_with_agent', arguments: args }));
    t.like(answer, { outcome: 'COMPLETED', accepted_fields: ['message', 'context'] });
    t.deepEqual(answer['ignored_fields'], [
      { field: 'context.__proto__', reason: 'reserved_key' },
      { field: 'context.constructor', reason: 'reserved_key' },
      { field: 'bindings.prototype', reason: 'reserved_key' },
    ]);
    const other = JSON.parse('{"name":"x","metadata":{"__proto__":{"a":1}}}') as Record<string, unknown>;
    const refused = structured(await client.callTool({ name: 'create_agent', arguments: other }));
    t.like(refused, { error: 'validation_error', details: { field: 'metadata.__proto__' } });
  }
});
