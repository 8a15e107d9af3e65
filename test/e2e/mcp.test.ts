import test from 'ava';
import { ToolCatalogue } from '../../src/mcp/tools/catalogue.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Client } from '@modelcontextprotocol/client';
import { callEveryTool } from '../support/builders/every-tool.js';
import { mcpSurroundings } from '../support/servers/mcp-surroundings.js';
import { type McpNode, startMcpNode } from '../support/servers/mcp-node.js';
import type { TestNode } from '../support/servers/node.js';
import { eras, mcpClient, structured } from '../support/clients/mcp.js';
import { toolRows } from '../support/builders/tool-table.js';

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

async function namesFor(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}

const expected = { admin: 'A', editor: 'E', member: 'M' } as const;

for (const era of eras) {
  test.serial(`each role sees its tools, in one order (${era} revision)`, async (t) => {
    for (const [role, letter] of Object.entries(expected)) {
      const client = await mcpClient(t, node.node.baseUrl, await served.keyOf(role), { era });
      const names = toolRows.filter(({ roles }) => roles.includes(letter)).map(({ name }) => name);
      t.deepEqual(await namesFor(client), names);
      t.deepEqual(await namesFor(client), names);
      const { resources } = await client.listResources();
      t.is(resources.length, 19);
    }
    const owner = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key, { era });
    t.is((await namesFor(owner)).length, 96);
  });
}

test.serial('the counts of the tools are those of the table', (t) => {
  const count = (letter: string): number => toolRows.filter(({ roles }) => roles.includes(letter)).length;
  t.deepEqual([count('A'), count('E'), count('M')], [96, 52, 5]);
});

test.serial(
  'each tool has a title, a short description, closed arguments, an answer schema and its hints',
  async (t) => {
    const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
    const { tools } = await client.listTools();
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
      const row = toolRows.find((one) => one.name === name);
      t.truthy(title, name);
      t.true(description !== undefined && description.length < 300, name);
      t.is(inputSchema['additionalProperties'], false, name);
      t.is(outputSchema?.['type'], 'object', name);
      t.notThrows(() => ajv.compile(inputSchema as object), name);
      t.notThrows(() => ajv.compile((outputSchema ?? {}) as object), name);
      const hints = row?.hints ?? '';
      t.is(annotations?.readOnlyHint, hints.includes('R'), name);
      t.is(annotations?.destructiveHint, hints.includes('D'), name);
      t.is(annotations?.openWorldHint, hints.includes('O'), name);
      t.is(annotations?.idempotentHint, hints.includes('I'), name);
    }
  },
);

for (const era of eras) {
  test.serial(`every tool does its work (${era} revision)`, async (t) => {
    t.timeout(240_000);
    const around = await mcpSurroundings(t, {
      client: node.client,
      bootstrap: node.bootstrap,
      databaseUrl: node.databaseUrl,
    });
    // The official client holds each answer against the schema of its tool.
    const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key, { era });
    await client.listTools();
    const called = new Set<string>();
    const answers: string[] = [];
    await callEveryTool(async (name, args) => {
      const result = await client.callTool({ name, arguments: { ...args } });
      called.add(name);
      answers.push(JSON.stringify(result));
      if (result.isError === true) throw new Error(`${name}: ${JSON.stringify(result.structuredContent)}`);
      return structured(result);
    }, around);
    t.deepEqual([...called].toSorted(), toolRows.map(({ name }) => name).toSorted());
    const all = answers.join('\n');
    t.false(all.includes('sk-planted'), 'no answer holds a stored secret');
    t.notRegex(all, /webhook_secret"/, 'a new webhook secret is not in the answer');
  });
}

test.serial('a tool outside of the role is refused like its endpoint, and changes nothing', async (t) => {
  const editor = await mcpClient(t, node.node.baseUrl, await served.keyOf('editor'));
  const { agent_id: agent } = node.bootstrap;
  const refused = await editor.callTool({ name: 'archive_agent', arguments: { agent_id: agent } });
  t.true(refused.isError);
  t.like(structured(refused), { error: 'insufficient_permissions', status: 'error' });
  const { json } = await node.client.call('GET', `/api/agents/${agent}`, {
    token: node.bootstrap.access_token,
    tenant: node.bootstrap.tenant_id,
  });
  t.is(json.data.status, 'published');
});

test.serial('an unknown or excluded tool is a protocol error with the closest name', async (t) => {
  const headers = { 'x-mcp-toolsets': 'agents, llm', 'x-mcp-readonly': 'true' };
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key, { headers });
  t.deepEqual(await namesFor(client), [
    'list_agents',
    'get_agent',
    'validate_agent',
    'list_models',
    'get_quota',
  ]);
  const unknown = await t.throwsAsync(client.callTool({ name: 'list_agent', arguments: {} }));
  t.like(unknown, { code: -32_602 });
  t.regex(unknown?.message ?? '', /Did you mean "list_agents"/);
  const refused = (by: Client, name: string) =>
    t.throwsAsync<Error & { code: number }>(by.callTool({ name, arguments: {} }));
  for (const [name, by] of [
    ['create_agent', 'X-MCP-Readonly'],
    ['get_agent_version', 'X-MCP-Toolsets'],
    ['archive_agent', 'X-MCP-Readonly'],
    ['delete_secret', 'X-MCP-Toolsets and X-MCP-Readonly'],
  ]) {
    const hidden = await refused(client, name ?? '');
    t.is(hidden?.code, -32_602);
    t.true(
      hidden?.message.includes(`does not offer the tool ${name}: it is left out by ${by}.`),
      hidden?.message,
    );
  }
  // Only tools that the list has are suggested.
  t.notRegex((await refused(client, 'archive_agents'))?.message ?? '', /archive_agent"/);
  const key = await served.keyOf('member');
  const member = await mcpClient(t, node.node.baseUrl, key, { headers: { 'x-mcp-tools': 'list_agents' } });
  t.regex((await refused(member, 'get_agent'))?.message ?? '', /left out by X-MCP-Tools\./);
  t.regex((await refused(member, 'delete_secret'))?.message ?? '', /There is no tool delete_secret\. tools/);
});

test.serial('a header lowers the role and never raises it', async (t) => {
  const lowered = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key, {
    headers: { 'x-mcp-role': 'member' },
  });
  t.is((await namesFor(lowered)).length, 5);
  const member = await mcpClient(t, node.node.baseUrl, await served.keyOf('member'), {
    headers: { 'x-mcp-role': 'admin' },
  });
  t.is((await namesFor(member)).length, 5);
});

test.serial('an unknown argument is refused with the closest one', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const refused = await client.callTool({ name: 'list_agents', arguments: { limt: 3 } });
  t.true(refused.isError);
  t.like(structured(refused), { error: 'validation_error', details: { field: 'limt' } });
  t.regex(String(structured(refused)['message']), /Did you mean "limit"/);
});

test.serial(
  'requests without a credential, from a foreign page or by another method are refused',
  async (t) => {
    const url = `${node.node.baseUrl}/mcp`;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const anonymous = await fetch(url, { method: 'POST', headers, body });
    t.is(anonymous.status, 401);
    t.like(await anonymous.json(), { error: 'authentication_required', status: 'error' });
    t.regex(
      anonymous.headers.get('www-authenticate') ?? '',
      /resource_metadata="[^"]+oauth-protected-resource/,
    );
    const keyed = { ...headers, 'x-api-key': node.bootstrap.api_key };
    const foreign = await fetch(url, {
      method: 'POST',
      headers: { ...keyed, origin: 'https://evil.example' },
      body,
    });
    t.is(foreign.status, 403);
    t.is((await fetch(url, { headers: keyed })).status, 405);
    t.is((await fetch(url, { method: 'DELETE', headers: keyed })).status, 405);
    const broken = await fetch(url, { method: 'POST', headers: keyed, body: '{' });
    t.is(broken.status, 400);
    t.like(await broken.json(), { jsonrpc: '2.0', error: { code: -32_700 } });
    const batch = await fetch(url, { method: 'POST', headers: keyed, body: `[${body},${body}]` });
    t.is(batch.status, 400);
    t.like(await batch.json(), { error: { code: -32_600 } });
    const metadata = await fetch(`${node.node.baseUrl}/.well-known/oauth-protected-resource`);
    t.like(await metadata.json(), { resource: url, bearer_methods_supported: ['header'] });
  },
);

test.serial('a body is bounded in bytes, in depth and in the number of its values', async (t) => {
  const headers = {
    'x-api-key': node.bootstrap.api_key,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const answerTo = async (argument: string) => {
    const params = `{"name":"list_agents","arguments":{"search":${argument}}}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    const response = await fetch(`${node.node.baseUrl}/mcp`, { method: 'POST', headers, body });
    return { status: response.status, text: await response.text() };
  };
  const deep = await answerTo('['.repeat(1_000) + ']'.repeat(1_000));
  t.is(deep.status, 400);
  t.regex(deep.text, /-32700.*nested deeper/);
  const many = await answerTo(`[${'1,'.repeat(60_000)}1]`);
  t.is(many.status, 400);
  t.regex(many.text, /-32700.*more than 50000/);
  t.is((await answerTo(`"${'x'.repeat(3_900_000)}"`)).status, 200);
  const large = await answerTo(`"${'x'.repeat(4 * 1024 * 1024)}"`);
  t.is(large.status, 413);
  t.like(JSON.parse(large.text), { error: 'payload_too_large' });
});

test.serial(
  'an id or a progress token that each message would repeat is refused if it is long',
  async (t) => {
    const headers = {
      'x-api-key': node.bootstrap.api_key,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const answerTo = async (id: unknown, meta: object) => {
      const params = { name: 'list_agents', arguments: {}, _meta: meta };
      const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
      const response = await fetch(`${node.node.baseUrl}/mcp`, { method: 'POST', headers, body });
      return { status: response.status, text: await response.text() };
    };
    const long = 'x'.repeat(3_900_000);
    const id = await answerTo(long, {});
    t.is(id.status, 400);
    t.like(JSON.parse(id.text), { id: null, error: { code: -32_600 } });
    const token = await answerTo(1, { progressToken: long });
    t.is(token.status, 400);
    t.like(JSON.parse(token.text), { id: 1, error: { code: -32_602 } });
    t.is((await answerTo('x'.repeat(200), { progressToken: 'y'.repeat(200) })).status, 200);
  },
);

test.serial('an access token with its tenant works like a key', async (t) => {
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': tenant, 'x-api-key': '' };
  const client = await mcpClient(t, node.node.baseUrl, '', { headers });
  t.is((await namesFor(client)).length, 96);
});

test.serial('a common call gets the same answer on the direct path and through the library', async (t) => {
  const post = async (method: string, params: object, meta: object): Promise<unknown> => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
      ...meta,
    };
    const response = await fetch(`${node.node.baseUrl}/mcp`, {
      method: 'POST',
      headers: {
        'x-api-key': node.bootstrap.api_key,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...('name' in params ? { 'mcp-name': String(params.name) } : {}),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } }),
    });
    return [response.status, response.headers.get('content-type'), await response.json()];
  };
  // A progress token is no common request, so the library answers it.
  for (const [method, params] of [
    ['tools/call', { name: 'list_agents', arguments: {} }],
    ['tools/call', { name: 'get_agent', arguments: { agent_id: 'none' } }],
    ['tools/call', { name: 'list_agents', arguments: { limt: 1 } }],
    ['tools/list', {}],
  ] as const) {
    t.deepEqual(await post(method, params, {}), await post(method, params, { progressToken: 1 }));
  }
});

/** Operations that a tenant may call and that have no tool, each with the reason. */
const withoutTool: Readonly<Record<string, string>> = {
  'tenants.update': 'the settings of a tenant are for people',
  'tenants.delete': 'it cannot be undone, and only an owner may decide it',
  'tenants.read': 'get_billing_plan and list_members tell a model what it needs',
  'keys.create': 'its answer holds a key, and answers enter a context',
  'keys.update': 'what a key may spend and from where it works is for people to decide',
  'secrets.update': 'who may send a secret where is for people to decide',
  'agents.list-published': 'list_agents with status published',
  'agents.restore': 'bringing back what people archived is theirs',
  'llm.call': 'call_llm, for a signed-in user',
  'compat.chat-completions': 'call_llm, in the form of OpenAI',
  'compat.messages': 'call_llm, in the form of Anthropic',
  'compat.embeddings': 'vectors are for programs, not for models',
  'compat.responses': 'call_llm, in the form of OpenAI',
  'compat.response': 'a record of a program that calls models',
  'compat.response-delete': 'a record of a program that calls models',
  'compat.models': 'list_models, in the form of OpenAI',
  'compat.model': 'list_models, in the form of OpenAI',
  'compat.count-tokens': 'a call tells its tokens, and a model has no use for the count before it',
  'attachments.get': 'get_session lists attachments; their bytes are no text for a model',
  'executions.stream': 'chat_with_agent with the same idempotency key joins a turn',
  'sessions.create': 'chat_with_agent opens sessions',
  'sessions.monitor': 'a stream of five minutes; subscriptions tell of changes',
  'sessions.changes': 'subscriptions tell of changes',
  'executions.calls': 'get_execution tells a model what its turn did',
  'realtime.socket': 'subscriptions tell of changes',
  'realtime.events': 'subscriptions tell of changes',
  'mail-domains.list': 'proving a domain needs its name server',
  'mail-domains.create': 'proving a domain needs its name server',
  'mail-domains.verify': 'proving a domain needs its name server',
  'mail-domains.delete': 'proving a domain needs its name server',
  'triggers.types': 'the resources about triggers',
  'triggers.buffers': 'a buffer is gone within a minute; its execution is listed then',
  'telemetry.log': 'list_telemetry_logs and get_execution tell a model what it needs',
  'telemetry.turns': 'list_executions and get_telemetry tell a model what it needs',
  'auth.token': 'its answer holds a credential, and answers enter a context',
  'approvals.list': 'what a model wants to do is for people to decide',
  'approvals.decide': 'what a model wants to do is for people to decide',
  'audit.list': 'who changed what is for people to judge',
  'errors.of-tenant': 'list_executions and get_execution tell a model why its turns failed',
  'databases.test-stored': 'refresh_database_schema tries the same connection',
  'exports.read': 'a file of any length is for programs and people',
  'mcp.request': 'this is how tools are called',
};

test.serial('no operation of a tenant lacks a tool, or a reason', (t) => {
  const catalogue = new ToolCatalogue(node.node.table);
  const used = new Set([...catalogue.all.map(({ operation }) => operation.name), ...partsOfTools]);
  const lacking = node.node.table.operations
    .filter(({ access }) => access.tenant.from !== 'none' && !access.credentials.has('operator'))
    .map(({ name }) => name)
    .filter((name) => !used.has(name) && !(name in withoutTool));
  t.deepEqual(lacking, []);
  t.deepEqual(
    Object.keys(withoutTool).filter((name) => used.has(name)),
    [],
  );
});

/** Operations that a tool calls beside its first one. */
const partsOfTools = [
  'databases.freshness',
  'sessions.messages',
  'consumers.memory',
  'consumers.erase',
  'triggers.stats-of',
  'keys.stats',
  'telemetry.usage-by-hour',
  'telemetry.sessions',
  'telemetry.cache',
  'telemetry.loopgraph',
  'telemetry.graph',
  'telemetry.call-sources',
];
