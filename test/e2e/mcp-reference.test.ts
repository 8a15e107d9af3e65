import test from 'ava';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { eventually } from '../support/clocks/eventually.js';
import { reservedNames } from '../../src/conversations/invocation/index.js';
import { mcpClient, structured } from '../support/clients/mcp.js';
import { type McpNode, startMcpNode } from '../support/servers/mcp-node.js';
import { startTestNode, type TestNode } from '../support/servers/node.js';
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

test.serial(
  'the reference material is readable, and its schemas take examples and refuse a broken one',
  async (t) => {
    const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
    const read = async (uri: string): Promise<string> => {
      const [content] = (await client.readResource({ uri })).contents;
      return content !== undefined && 'text' in content ? content.text : '';
    };
    const { resources } = await client.listResources();
    for (const { uri } of resources) t.true((await read(uri)).length > 100, uri);
    const matrix = await read('platform://docs/permissions');
    for (const { name } of toolRows) t.true(matrix.includes(`| ${name} |`), name);
    const examples: Readonly<Record<string, readonly [object, object]>> = {
      agent: [{ name: 'support' }, { name: 7 }],
      'agent-schema': [
        { type: 'agent', name: 'helper', editor_schema: { agent: { agent_id: crypto.randomUUID() } } },
        { type: 'nothing', name: 'helper' },
      ],
      'api-tool': [
        { type: 'api', name: 'weather', editor_schema: { api: { url: 'https://api.example.com' } } },
        { type: 'api', name: '!' },
      ],
      'mcp-server': [
        { type: 'mcp', name: 'files', editor_schema: { mcp: { url: 'https://mcp.example.com' } } },
        { type: 'mcp', name: 'files', editor_schema: { mcp: {} } },
      ],
      'trigger-webhook': [{ auth: { type: 'none' } }, { auth: { type: 'password' } }],
      'trigger-schedule': [{ cron: '0 9 * * *', message: 'report' }, { cron: 7 }],
      'trigger-email': [{}, { reply: 'yes' }],
      'trigger-db-event': [
        {
          database_config_id: crypto.randomUUID(),
          table: 'orders',
          cursor_column: 'id',
          message_template: 'new',
        },
        { table: 7 },
      ],
      'database-config': [
        { name: 'shop', connection_config: { host: 'db.example.com', database: 'shop', username: 'reader' } },
        { name: 'shop', connection_config: { database: 'shop', username: 'reader' } },
      ],
    };
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const [name, [good, bad]] of Object.entries(examples)) {
      const matches = ajv.compile(JSON.parse(await read(`platform://schemas/${name}`)) as object);
      t.true(matches(good), `${name}: ${ajv.errorsText(matches.errors)}`);
      t.false(matches(bad), name);
      t.false(matches({ ...good, surprise: 1 }), `${name} takes no names that the endpoint refuses`);
    }
    const guide = (name: string) => read(`platform://docs/${name}`);
    for (const name of [...reservedNames, 'reserved_key', 'attachments'])
      t.true((await guide('context-and-bindings')).includes(name), name);
    for (const event of [
      'metadata',
      'status',
      'phase',
      'tool',
      'approval',
      'thinking',
      'delta',
      'response',
      'done',
    ])
      t.regex(await guide('streaming'), new RegExp(`\\d\\. .*\`${event}\``), event);
    t.regex(await guide('errors'), /\| validation_error or invalid_input or VALIDATION_ERROR \| 400 \|/);
    const webhooks = await guide('webhooks');
    for (const word of [
      'sha512=',
      'five minutes',
      'webhook-signature',
      '5 attempts',
      'max_messages',
      'send_failures',
    ])
      t.true(webhooks.includes(word), word);
    t.notRegex(
      webhooks.slice(0, webhooks.indexOf('**Callbacks**')),
      /Standard Webhooks/,
      'of callbacks alone',
    );
    t.like(await t.throwsAsync(read('platform://docs/overwiew')), { code: -32_602 });
  },
);

test.serial('what a schema of the reference material takes, its tool takes', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const { tools } = await client.listTools();
  const agent_id = node.bootstrap.agent_id;
  for (const [uri, tool, body, other] of [
    [
      'platform://schemas/api-tool',
      'create_api_tool',
      { type: 'api', name: 'prices', editor_schema: { api: { url: 'https://api.example.com' } } },
      'mcp',
    ],
    [
      'platform://schemas/mcp-server',
      'create_mcp_server',
      { type: 'mcp', name: 'notes', editor_schema: { mcp: { url: 'https://mcp.example.com' } } },
      'api',
    ],
  ] as const) {
    const [content] = (await client.readResource({ uri })).contents;
    const schema = JSON.parse(content !== undefined && 'text' in content ? content.text : '') as object;
    t.true(ajv.validate(schema, body), uri);
    const { inputSchema = {} } = tools.find(({ name }) => name === tool) ?? {};
    t.true(ajv.validate(inputSchema, { agent_id, ...body }), tool);
    const wrong = await client.callTool({ name: tool, arguments: { agent_id, ...body, type: other } });
    t.like(structured(wrong), { error: 'validation_error', details: { field: 'type' } });
    t.like(structured(await client.callTool({ name: tool, arguments: { agent_id, ...body } })), {
      success: true,
      data: { type: body.type, name: body.name },
    });
  }
  const { inputSchema = {} } = tools.find(({ name }) => name === 'create_database_config') ?? {};
  const place = { host: 'db.example.com', database: 'shop', username: 'reader' };
  t.true(ajv.validate(inputSchema, { name: 'shop', connection_config: place }));
  t.false(ajv.validate(inputSchema, { name: 'shop', connection_config: { ...place, host: null } }));
  t.false(ajv.validate(inputSchema, { name: 'shop', connection_config: {} }));
});

test.serial('rows of the tenant are read by their addresses, and those of others are not', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const { resourceTemplates } = await client.listResourceTemplates();
  t.is(resourceTemplates.length, 3);
  const { contents } = await client.readResource({ uri: `platform://agents/${node.bootstrap.agent_id}` });
  t.is(contents.length, 1);
  const unknown = client.readResource({ uri: `platform://agents/${crypto.randomUUID()}` });
  t.like(await t.throwsAsync(unknown), { code: -32_602 });
});

test.serial(
  'prompts are offered, and arguments are completed from the lists that the role may read',
  async (t) => {
    const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
    const { prompts } = await client.listPrompts();
    t.deepEqual(
      prompts.map(({ name }) => name),
      ['debug_trigger', 'explain_slow_turn', 'review_agent_changes'],
    );
    const prompt = await client.getPrompt({ name: 'debug_trigger', arguments: { trigger_id: 'abc' } });
    t.regex(JSON.stringify(prompt.messages), /The trigger abc fails/);
    t.like(await t.throwsAsync(client.getPrompt({ name: 'debug_trigger', arguments: {} })), {
      code: -32_602,
    });
    const ref = { type: 'ref/prompt', name: 'review_agent_changes' } as const;
    const begin = node.bootstrap.agent_id.slice(0, 4);
    const { completion } = await client.complete({ ref, argument: { name: 'agent_id', value: begin } });
    t.true(completion.values.includes(node.bootstrap.agent_id));
    const member = await mcpClient(t, node.node.baseUrl, await served.keyOf('member'));
    const none = await member.complete({ ref, argument: { name: 'trigger_id', value: '' } });
    t.deepEqual(none.completion.values, []);
  },
);

test.serial('a change of an agent reaches its subscribers and nobody else', async (t) => {
  const client = await mcpClient(t, node.node.baseUrl, node.bootstrap.api_key);
  const made = await client.callTool({ name: 'create_agent', arguments: { name: `seen-${Date.now()}` } });
  t.falsy(made.isError, JSON.stringify(made));
  const { id } = structured(made)['data'] as { id: string };
  const uri = `platform://agents/${id}`;
  const updates: string[] = [];
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void updates.push(params.uri),
  );
  await client.listen({ resourceSubscriptions: [uri] });
  await client.callTool({ name: 'publish_agent', arguments: { agent_id: id } });
  await eventually(() => updates.includes(uri), { what: 'the update has arrived' });
  t.deepEqual([...new Set(updates)], [uri]);
});

test.serial('a changed draft reaches subscribers that may see drafts', async (t) => {
  const [owner, member] = await Promise.all(
    [node.bootstrap.api_key, await served.keyOf('member')].map((key) => mcpClient(t, node.node.baseUrl, key)),
  );
  if (owner === undefined || member === undefined) throw new Error('there are two');
  const made = await owner.callTool({ name: 'create_agent', arguments: { name: `draft-${Date.now()}` } });
  const { id } = structured(made)['data'] as { id: string };
  const uri = `platform://agents/${id}`;
  const updatesOf = async (client: typeof owner): Promise<string[]> => {
    const updates: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', () => void updates.push(uri));
    await client.listen({ resourceSubscriptions: [uri] });
    return updates;
  };
  const [seen, hidden] = [await updatesOf(owner), await updatesOf(member)];
  const at = { agent_id: id };
  t.falsy((await owner.callTool({ name: 'update_agent', arguments: { ...at, bio: 'a draft' } })).isError);
  await eventually(() => seen.length === 1, { what: 'the change of the draft' });
  const tool = { ...at, name: 'weather', editor_schema: { api: { url: 'https://api.example.com' } } };
  const added = await owner.callTool({ name: 'create_api_tool', arguments: tool });
  t.falsy(added.isError, JSON.stringify(added));
  await eventually(() => seen.length === 2, { what: 'the new tool' });
  const { id: toolId } = structured(added)['data'] as { id: string };
  await owner.callTool({ name: 'delete_api_tool', arguments: { ...at, tool_id: toolId } });
  await eventually(() => seen.length === 3, { what: 'the deletion of the tool' });
  await owner.callTool({ name: 'publish_agent', arguments: at });
  // The feed keeps the order: what a member may not see would have come before.
  await eventually(() => hidden.length === 1, { what: 'the publication' });
  t.is(hidden.length, 1);
});

test.serial('a node that stops ends the subscriptions, and does not wait for their clients', async (t) => {
  const other = await startTestNode(t);
  const client = await mcpClient(t, other.node.baseUrl, other.bootstrap.api_key);
  const { closed } = await client.listen({
    resourceSubscriptions: [`platform://agents/${other.bootstrap.agent_id}`],
  });
  const patience = AbortSignal.timeout(60_000);
  await other.node.stop(patience);
  t.false(patience.aborted, 'no subscription was waited for until it was cut off');
  await t.notThrowsAsync(closed);
});
