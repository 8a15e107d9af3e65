import test from 'ava';
import { withContextDefaults } from '../../../src/agents/tools/context-defaults.js';
import { ToolError } from '../../../src/agents/index.js';
import { type AgentsBench, dataOf, idOf, type Person, startAgents } from '../../support/servers/agents.js';
import { databaseOfFile } from '../../support/database/database.js';
import { answerJson, startMcpServer, startToolServer } from '../../support/servers/tool-servers.js';

const database = databaseOfFile(test);
let bench: AgentsBench;

test.serial.before(async () => {
  bench = await startAgents(database);
});

async function newAgent(): Promise<{ owner: Person; path: string }> {
  const owner = bench.person(await bench.newTenant(), 'owner');
  const id = idOf(await owner.call('POST', '/api/agents', { name: 'trying' }));
  return { owner, path: `/api/agents/${id}/schemas` };
}

async function newTool(owner: Person, path: string, api: object): Promise<string> {
  const created = await owner.call('POST', path, { name: 'tool', type: 'api', editor_schema: { api } });
  if (created.status !== 201) throw new Error(JSON.stringify(created.body));
  return `${path}/${idOf(created)}/test`;
}

test('arguments, context and secrets reach an HTTP tool at the places in its schema', async (t) => {
  const { owner, path } = await newAgent();
  const server = await startToolServer(t, (_, response) => answerJson(response, { ok: true }));
  await owner.call('POST', '/api/secrets', { name: 'key', value: 's3cr3t/+ value', kind: 'generic' });
  await owner.call('POST', '/api/secrets', { name: 'login', value: 'ann:pässword', kind: 'basic' });
  const at = await newTool(owner, path, {
    method: 'POST',
    url: `${server.url}/v1/\${args.city}/x?fixed=1&k=\${secret.key}`,
    headers: { 'X-User': 'u-${context.user}', 'X-Missing': '${args.nothing}' },
    query: { days: '${args.days}', list: '${args.list}', gone: '${args.nothing}', on: true },
    body: {
      all: '${args.filter}',
      n: '${args.days}',
      text: 'for ${args.city}!',
      gone: '${args.nothing}',
      nested: ['${args.nothing}', 1],
    },
    auth: { type: 'basic', secret_ref: 'login' },
  });
  const reply = await owner.call('POST', at, {
    arguments: { city: 'São Paulo/../?', days: 3, list: ['a', 'b'], filter: { deep: [true, null] } },
    context: { user: 'u1' },
  });
  t.is(reply.status, 200, JSON.stringify(reply.body));
  t.like(dataOf(reply), {
    status: 200,
    is_error: false,
    result: '{"ok":true}',
    truncated: false,
    missing_context: [],
  });
  const [heard] = server.heard;
  t.is(heard?.method, 'POST');
  t.is(
    heard?.path,
    '/v1/S%C3%A3o%20Paulo%2F..%2F%3F/x?fixed=1&k=s3cr3t%2F%2B%20value&on=true&days=3&list=a&list=b',
  );
  t.is(heard?.headers['x-user'], 'u-u1');
  t.is(heard?.headers['x-missing'], '');
  t.is(heard?.headers['content-type'], 'application/json');
  t.is(heard?.headers['authorization'], `Basic ${Buffer.from('ann:pässword').toString('base64')}`);
  t.deepEqual(JSON.parse(heard?.body ?? ''), {
    all: { deep: [true, null] },
    n: 3,
    text: 'for São Paulo/../?!',
    nested: [null, 1],
  });
});

test('a tool without argument places gets all arguments', async (t) => {
  const { owner, path } = await newAgent();
  const server = await startToolServer(t, (_, response) => answerJson(response, {}));
  const get = await newTool(owner, path, { url: `${server.url}/a?b=1` });
  await owner.call('POST', get, { arguments: { c: 'd e', n: 2 } });
  t.is(server.heard[0]?.path, '/a?b=1&c=d%20e&n=2');
  const created = await owner.call('POST', path, {
    name: 'poster',
    type: 'api',
    editor_schema: { api: { url: `${server.url}/a`, method: 'POST' } },
  });
  await owner.call('POST', `${path}/${idOf(created)}/test`, { arguments: { c: { d: 1 } } });
  t.is(server.heard[1]?.body, '{"c":{"d":1}}');
});

test('inserted values are not filled again and cannot leave their place', async (t) => {
  const { owner, path } = await newAgent();
  const server = await startToolServer(t, (_, response) => answerJson(response, {}));
  await owner.call('POST', '/api/secrets', { name: 'key', value: 'hidden-value', kind: 'generic' });
  const at = await newTool(owner, path, {
    method: 'POST',
    url: `${server.url}/users/\${args.id}/profile`,
    headers: { 'X-Note': '${args.note}' },
    body: { note: '${args.note}', proto: '${args.constructor}' },
  });
  const go = (args: object) => owner.call('POST', at, { arguments: args });
  t.is((await go({ id: 'a', note: '${secret.key} ${args.id}' })).status, 200);
  t.deepEqual(JSON.parse(server.heard[0]?.body ?? ''), { note: '${secret.key} ${args.id}' });
  for (const id of ['.', '..']) {
    t.like((await go({ id, note: '' })).body, { error: 'validation_error', details: { field: 'arguments' } });
  }
  const split = await go({ id: 'a', note: 'x\r\nX-Injected: 1' });
  t.like(split.body, { error: 'validation_error', details: { field: 'arguments' } });
  t.is(server.heard.length, 1, 'nothing was sent');
});

test('arguments that would fill a template to gigabytes are refused before sending', async (t) => {
  const { owner, path } = await newAgent();
  const server = await startToolServer(t, (_, response) => answerJson(response, {}));
  const long = 'x'.repeat(500_000);
  for (const body of [
    Array.from({ length: 4_000 }, () => '-${args.x}'),
    Array.from({ length: 4_000 }, () => '${args.x}'),
    '${args.x}'.repeat(4_000),
    { '${args.x}': 1, list: Array.from({ length: 4_000 }, () => ({ '${args.x}': 1 })) },
  ]) {
    const made = await owner.call('POST', path, {
      name: `tool${Math.trunc(performance.now())}`,
      type: 'api',
      editor_schema: { api: { method: 'POST', url: server.url, body } },
    });
    for (const x of [long, { long }]) {
      const reply = await owner.call('POST', `${path}/${idOf(made)}/test`, { arguments: { x } });
      t.like(reply.body, { error: 'validation_error', details: { field: 'arguments' } });
    }
  }
  t.is(server.heard.length, 0);
});

test('a context value that would replace too many items is refused', (t) => {
  const args = { ids: Array.from({ length: 100_000 }, () => 0), rows: Array.from({ length: 9 }, () => ({})) };
  const context = { me: 'x'.repeat(500_000), all: { me: 'x'.repeat(500_000) } };
  for (const defaults of [{ 'ids[]': 'me' }, { 'ids[]': 'all' }, { 'rows[].owner': 'me' }]) {
    t.throws(() => withContextDefaults(args, defaults, context), { instanceOf: ToolError });
  }
  t.is(
    (withContextDefaults(args, { 'rows[].owner': 'me' }, { me: 'u1' }).args['rows'] as unknown[]).length,
    9,
  );
});

test("an expression that needs hundreds of megabytes fails only its own tool's answer", async (t) => {
  const { owner, path } = await newAgent();
  const server = await startToolServer(t, (_, response) => answerJson(response, { a: [1, 2, 3] }));
  const at = await newTool(owner, path, {
    url: server.url,
    response: { select: "upper(pad_left('a', `400000000`))" },
  });
  const reply = await owner.call('POST', at, {});
  t.is(reply.status, 502);
  t.regex(String(reply.body['message']), /pad_left/);
  const other = await newAgent();
  const fine = await newTool(other.owner, other.path, { url: server.url, response: { select: 'sum(a)' } });
  t.is(dataOf(await other.owner.call('POST', fine, {}))['result'], '6');
});

test('secrets that a tool echoes are removed from its answer, in all their forms', async (t) => {
  const { owner, path } = await newAgent();
  const server = await startToolServer(t, ({ headers, path: asked }, response) => {
    answerJson(response, {
      said: headers['authorization'],
      asked,
      encoded: Buffer.from('planted-"value').toString('base64'),
    });
  });
  await owner.call('POST', '/api/secrets', { name: 'key', value: 'planted-"value', kind: 'generic' });
  const at = await newTool(owner, path, {
    url: `${server.url}/?k=\${secret.key}`,
    auth: { type: 'bearer', secret_ref: 'key' },
  });
  const reply = await owner.call('POST', at, {});
  const { result } = dataOf(reply) as { result: string };
  t.false(/planted|value/.test(result.replaceAll('"', '')), result);
  t.is(result.split('[REDACTED]').length, 4);
});

test('answers of any kind are selected, cut and described', async (t) => {
  const { owner, path } = await newAgent();
  const server = await startToolServer(t, ({ path: asked }, response) => {
    if (asked === '/json') return answerJson(response, { items: [{ name: 'a' }, { name: 'b' }] });
    if (asked === '/404') return answerJson(response, { error: 'no such thing' }, 404);
    if (asked === '/html') return void response.end('<html>hi</html>');
    if (asked === '/none') return void response.writeHead(204).end();
    if (asked === '/bytes') return void response.end(Buffer.from([0, 1, 2, 255]));
    response.end('x'.repeat(3_000_000));
  });
  const shown = async (asked: string, response?: object) => {
    const created = await owner.call('POST', path, {
      name: `t${Math.floor(Math.random() * 1e9)}`,
      type: 'api',
      editor_schema: {
        api: { url: `${server.url}${asked}`, ...(response === undefined ? {} : { response }) },
      },
    });
    const reply = await owner.call('POST', `${path}/${idOf(created)}/test`, {});
    if (reply.status !== 200) return reply.body['error'];
    const { status, result, truncated, is_error } = dataOf(reply);
    return [
      status,
      typeof result === 'string' && result.length > 100 ? result.length : result,
      truncated,
      is_error,
    ];
  };
  t.deepEqual(await shown('/json', { select: 'items[].name' }), [200, '["a","b"]', false, false]);
  t.deepEqual(await shown('/json', { select: 'items[0].name' }), [200, 'a', false, false]);
  t.deepEqual(await shown('/json', { select: 'nothing' }), [200, 'null', false, false]);
  t.deepEqual(await shown('/json', { max_chars: 5 }), [200, '{"ite', true, false]);
  t.deepEqual(await shown('/404'), [404, '{"error":"no such thing"}', false, true]);
  t.deepEqual(await shown('/html'), [200, '<html>hi</html>', false, false]);
  t.deepEqual(await shown('/none'), [204, '', false, false]);
  t.deepEqual(await shown('/bytes'), [200, 'The answer is not text: 4 bytes of unknown type.', false, false]);
  t.deepEqual(await shown('/long'), [200, 20_000, true, false]);
  t.is(await shown('/html', { select: 'a' }), 'provider_error');
});

test('a forbidden, silent or absent tool is reported as such', async (t) => {
  const { owner, path } = await newAgent();
  const silent = await startToolServer(t, () => undefined);
  const of = async (name: string, api: object) => {
    const created = await owner.call('POST', path, { name, type: 'api', editor_schema: { api } });
    return owner.call('POST', `${path}/${idOf(created)}/test`, {});
  };
  t.like(await of('metadata', { url: 'http://169.254.169.254/latest' }), {
    status: 400,
    body: { error: 'validation_error', details: { field: 'editor_schema.api.url' } },
  });
  t.like(await of('silent', { url: silent.url, timeout_ms: 1_000 }), {
    status: 504,
    body: {
      error: 'provider_timeout',
      details: { provider: '127.0.0.1', original_error: '127.0.0.1 did not answer within 1000 ms.' },
    },
  });
  t.like(await of('closed', { url: 'http://127.0.0.1:8/' }), {
    status: 502,
    body: {
      error: 'provider_error',
      details: {
        provider: '127.0.0.1',
        original_error: 'The connection to 127.0.0.1 failed (ECONNREFUSED).',
      },
    },
  });
  t.like(await of('keyless', { url: silent.url, auth: { type: 'bearer', secret_ref: 'gone' } }), {
    status: 400,
    body: { error: 'validation_error', details: { field: 'editor_schema.api.auth' } },
  });
});

test('missing context of a tool is reported', async (t) => {
  const { owner, path } = await newAgent();
  const server = await startToolServer(t, (_, response) => answerJson(response, {}));
  const at = await newTool(owner, path, { url: `${server.url}/\${context.user}/\${context.team}` });
  t.deepEqual(dataOf(await owner.call('POST', at, { context: { team: 'x' } }))['missing_context'], ['user']);
});

test('an MCP server lists its tools, and a tool is called with context in place of arguments', async (t) => {
  const { owner, path } = await newAgent();
  const server = await startMcpServer(t, 'letmein');
  await owner.call('POST', '/api/secrets', { name: 'mcp', value: 'letmein', kind: 'bearer' });
  const created = await owner.call('POST', path, {
    name: 'files',
    type: 'mcp',
    editor_schema: {
      mcp: {
        url: server.url,
        auth: { type: 'bearer', secret_ref: 'mcp' },
        allowed_tools: ['echo'],
        defaults_from_context: { 'body[].requesterId': 'userId', 'filter.owner': 'owner' },
      },
    },
  });
  const at = `${path}/${idOf(created)}`;
  const discovered = await owner.call('POST', `${at}/discover`);
  t.is(discovered.status, 200, JSON.stringify(discovered.body));
  const { tools, discovered_at } = dataOf(discovered) as { tools: object[]; discovered_at: string };
  t.like(tools, [
    { name: 'echo', description: 'Answers its arguments', allowed: true },
    { name: 'fail', allowed: false },
  ]);
  t.false(Number.isNaN(Date.parse(discovered_at)));
  t.like(dataOf(await owner.call('GET', at)), { tools: [{ name: 'echo' }, { name: 'fail' }], revision: 1 });

  const called = await owner.call('POST', `${at}/test`, {
    tool: 'echo',
    arguments: { text: 'hi', body: [{ requesterId: 'forged' }, {}] },
    context: { userId: 'u1' },
  });
  t.is(called.status, 200, JSON.stringify(called.body));
  t.like(dataOf(called), { status: null, is_error: false, missing_context: ['owner'] });
  t.deepEqual(JSON.parse(String(dataOf(called)['result'])), {
    text: 'hi',
    body: [{ requesterId: 'u1' }, { requesterId: 'u1' }],
  });
  t.like((await owner.call('POST', `${at}/test`, { tool: 'fail' })).body, { details: { field: 'tool' } });
  t.is((await owner.call('POST', `${at}/test`, {})).body['error'], 'missing_required_field');
  await owner.call('PATCH', at, { editor_schema: { mcp: { allowed_tools: null } } });
  t.like(
    dataOf(await owner.call('GET', at)),
    { tools: [{ name: 'echo' }, { name: 'fail' }] },
    'the same server',
  );
  t.like(dataOf(await owner.call('POST', `${at}/test`, { tool: 'fail' })), {
    is_error: true,
    result: 'it went wrong',
  });
  await owner.call('PATCH', at, { editor_schema: { mcp: { url: 'https://mcp.example.com/' } } });
  t.is(dataOf(await owner.call('GET', at))['tools'], null);
});

test('a server that does not speak MCP is named in the error, with what it answered and without secrets', async (t) => {
  const { owner, path } = await newAgent();
  const server = await startToolServer(t, ({ headers }, response) =>
    answerJson(response, { said: headers['authorization'] }, 418),
  );
  await owner.call('POST', '/api/secrets', { name: 'mcp', value: 'planted-value', kind: 'bearer' });
  const auth = { type: 'bearer', secret_ref: 'mcp' };
  const created = await owner.call('POST', path, {
    name: 'files',
    type: 'mcp',
    editor_schema: { mcp: { url: server.url, auth } },
  });
  for (const [step, body] of [
    ['discover', undefined],
    ['test', { tool: 'echo' }],
  ] as const) {
    const reply = await owner.call('POST', `${path}/${idOf(created)}/${step}`, body);
    t.like(reply, { status: 502, body: { error: 'provider_error', details: { provider: '127.0.0.1' } } });
    const { original_error: said } = reply.body['details'] as { original_error: string };
    t.true(said.length > 0 && !said.includes('planted'), said);
  }
});

test("an MCP server's hints on repeatable calls are stored", async (t) => {
  const { owner, path } = await newAgent();
  const server = await startMcpServer(t, undefined, [
    { name: 'read', annotations: { readOnlyHint: true } },
    { name: 'put', annotations: { idempotentHint: true } },
    { name: 'add', annotations: { readOnlyHint: false, idempotentHint: false } },
  ]);
  const created = await owner.call('POST', path, {
    name: 'files',
    type: 'mcp',
    editor_schema: { mcp: { url: server.url } },
  });
  await owner.call('POST', `${path}/${idOf(created)}/discover`);
  const { tools } = dataOf(await owner.call('GET', `${path}/${idOf(created)}`)) as {
    tools: { name: string; repeatable?: boolean }[];
  };
  const repeatable = tools.map(({ name, repeatable: is = false }) => `${name} ${is}`);
  for (const said of ['read true', 'put true', 'add false', 'echo false'])
    t.true(repeatable.includes(said), said);
});

test('only MCP servers list tools, and sub-agents cannot be tested alone', async (t) => {
  const { owner, path } = await newAgent();
  const agent = path.split('/')[3];
  const sub = idOf(
    await owner.call('POST', path, {
      name: 'sub',
      type: 'agent',
      editor_schema: { agent: { agent_id: agent } },
    }),
  );
  t.like((await owner.call('POST', `${path}/${sub}/test`, {})).body, { details: { field: 'type' } });
  t.like((await owner.call('POST', `${path}/${sub}/discover`)).body, { details: { field: 'type' } });
});
