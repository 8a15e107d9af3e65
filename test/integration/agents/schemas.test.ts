import { randomUUID } from 'node:crypto';
import test from 'ava';
import {
  type AgentsBench,
  dataOf,
  idOf,
  namesOf,
  type Person,
  startAgents,
} from '../../support/servers/agents.js';
import { databaseOfFile } from '../../support/database/database.js';

const database = databaseOfFile(test);
let bench: AgentsBench;

test.serial.before(async () => {
  bench = await startAgents(database);
});

async function newAgent(): Promise<{ owner: Person; path: string; id: string }> {
  const owner = bench.person(await bench.newTenant(), 'owner');
  const id = idOf(await owner.call('POST', '/api/agents', { name: 'tooled' }));
  return { owner, id, path: `/api/agents/${id}/schemas` };
}

const api = (fields: object = {}) => ({
  name: 'weather',
  type: 'api',
  editor_schema: { api: { url: 'https://api.example.com/weather', ...fields } },
});
const mcp = (fields: object = {}) => ({
  name: 'files',
  type: 'mcp',
  editor_schema: { mcp: { url: 'https://mcp.example.com/mcp', ...fields } },
});

test('an HTTP tool is created with the specified defaults and read back', async (t) => {
  const { owner, path } = await newAgent();
  const created = await owner.call('POST', path, api());
  t.is(created.status, 201);
  t.like(dataOf(created), {
    name: 'weather',
    description: '',
    type: 'api',
    parameters: { type: 'object', properties: {} },
    revision: 1,
    tools: null,
    created_by: owner.caller.userId,
  });
  t.deepEqual(dataOf(created)['editor_schema'], {
    api: {
      method: 'GET',
      url: 'https://api.example.com/weather',
      auth: { type: 'none' },
      timeout_ms: 30_000,
    },
  });
  t.deepEqual(dataOf(created)['validation'], { state: 'unchecked', checked_at: null, issues: [] });
  t.is(dataOf(created)['updated_at'], dataOf(created)['created_at']);
  t.deepEqual((await owner.call('GET', `${path}/${idOf(created)}`)).body, created.body);
});

test('every field of an HTTP tool and of an MCP server is stored as given', async (t) => {
  const { owner, path } = await newAgent();
  const tool = {
    method: 'POST',
    url: 'https://api.example.com/v1/${args.city}/now?key=${secret.weather-key}',
    headers: { 'X-Trace': '${context.trace_id}', Accept: 'application/json' },
    query: { units: '${args.units}', days: 3, exact: true },
    body: { q: '${args.q}', nested: [{ user: '${context._user}' }, null, 1] },
    auth: { type: 'api_key', header: 'X-Key', vault_secret_id: randomUUID() },
    timeout_ms: 120_000,
    response: { select: 'items[].name', max_chars: 500 },
    idempotent: true,
  };
  const created = await owner.call('POST', path, api(tool));
  t.is(created.status, 201, JSON.stringify(created.body));
  t.deepEqual(dataOf(created)['editor_schema'], { api: tool });
  const server = {
    url: 'https://mcp.example.com/mcp',
    transport: 'http',
    auth: { type: 'bearer', secret_ref: 'mcp.token' },
    call_timeout_ms: 1_000,
    allowed_tools: ['read', 'write'],
    defaults_from_context: { 'body[].requesterId': 'userId', 'filter.owner': '_owner' },
  };
  t.deepEqual(dataOf(await owner.call('POST', path, mcp(server)))['editor_schema'], { mcp: server });
  const child = { agent_id: randomUUID() };
  const sub = await owner.call('POST', path, {
    name: 'helper',
    type: 'agent',
    editor_schema: { agent: child },
  });
  t.deepEqual(dataOf(sub)['editor_schema'], { agent: child });
  t.deepEqual(namesOf(await owner.call('GET', path)), ['weather', 'files', 'helper']);
  t.deepEqual(namesOf(await owner.call('GET', `${path}?type=mcp`)), ['files']);
  t.is((await owner.call('GET', path)).body['count'], 3);
  t.is((await owner.call('GET', `${path}?type=ftp`)).status, 400);
});

const wrong: readonly (readonly [object, string])[] = [
  [{ ...api(), type: 'ftp' }, 'type'],
  [{ ...api(), name: 'with space' }, 'name'],
  [{ ...api(), name: 'a__b' }, 'name'],
  [{ ...api(), name: 'suggest_quick_replies' }, 'name'],
  [{ ...api(), name: 'x'.repeat(65) }, 'name'],
  [{ ...mcp(), name: 'x'.repeat(33) }, 'name'],
  [{ ...api(), description: 'x'.repeat(4_001) }, 'description'],
  [{ ...api(), parameters: [] }, 'parameters'],
  [{ ...api(), parameters: { big: 'x'.repeat(70_000) } }, 'parameters'],
  [{ name: 'weather', type: 'api' }, 'editor_schema'],
  [{ name: 'weather', type: 'api', editor_schema: {} }, 'editor_schema.api'],
  [{ name: 'weather', type: 'api', editor_schema: mcp().editor_schema }, 'editor_schema.mcp'],
  [api({ url: 'ftp://example.com' }), 'editor_schema.api.url'],
  [api({ url: 'not an address' }), 'editor_schema.api.url'],
  [api({ url: 'https://${args.host}/x' }), 'editor_schema.api.url'],
  [api({ url: 'https://api.${context.zone}.example.com/x' }), 'editor_schema.api.url'],
  [api({ url: '${args.url}' }), 'editor_schema.api.url'],
  [api({ url: 'https://user:word@example.com/' }), 'editor_schema.api.url'],
  [api({ url: 'https://example.com/${arg.x}' }), 'editor_schema.api.url'],
  [api({ method: 'BREW' }), 'editor_schema.api.method'],
  [api({ timeout_ms: 999 }), 'editor_schema.api.timeout_ms'],
  [api({ timeout_ms: 120_001 }), 'editor_schema.api.timeout_ms'],
  [api({ headers: { Host: 'other.example.com' } }), 'editor_schema.api.headers.Host'],
  [api({ headers: { 'bad name': 'x' } }), 'editor_schema.api.headers.bad name'],
  [api({ headers: { 'X-A': '${nothing}' } }), 'editor_schema.api.headers.X-A'],
  [api({ body: { a: ['${ args.x }'] } }), 'editor_schema.api.body'],
  [api({ body: 'x'.repeat(65_537) }), 'editor_schema.api.body'],
  [api({ response: { select: 'a[' } }), 'editor_schema.api.response.select'],
  [api({ response: { max_chars: 0 } }), 'editor_schema.api.response.max_chars'],
  [api({ retries: 3 }), 'editor_schema.api.retries'],
  [api({ auth: { type: 'magic' } }), 'editor_schema.api.auth.type'],
  [api({ auth: { type: 'bearer' } }), 'editor_schema.api.auth.secret_ref'],
  [
    api({ auth: { type: 'bearer', secret_ref: 'a', vault_secret_id: randomUUID() } }),
    'editor_schema.api.auth.secret_ref',
  ],
  [api({ auth: { type: 'bearer', secret_ref: 'a b' } }), 'editor_schema.api.auth.secret_ref'],
  [api({ auth: { type: 'basic', vault_secret_id: 'x' } }), 'editor_schema.api.auth.vault_secret_id'],
  [api({ auth: { type: 'bearer', secret_ref: 'a', token: 'abc' } }), 'editor_schema.api.auth.token'],
  [mcp({ url: 'https://mcp.example.com/${args.x}' }), 'editor_schema.mcp.url'],
  [mcp({ transport: 'stdio' }), 'editor_schema.mcp.transport'],
  [mcp({ call_timeout_ms: 500 }), 'editor_schema.mcp.call_timeout_ms'],
  [mcp({ allowed_tools: 'all' }), 'editor_schema.mcp.allowed_tools'],
  [mcp({ defaults_from_context: { 'a..b': 'x' } }), 'editor_schema.mcp.defaults_from_context.a..b'],
  [
    { name: 'sub', type: 'agent', editor_schema: { agent: { agent_id: 'x' } } },
    'editor_schema.agent.agent_id',
  ],
];

test('a schema of a wrong shape is refused, naming the field', async (t) => {
  const { owner, path } = await newAgent();
  for (const [body, field] of wrong) {
    const refused = await owner.call('POST', path, body);
    t.is(refused.status, 400, JSON.stringify(body).slice(0, 200));
    t.like(refused.body, { status: 'error', details: { field } }, JSON.stringify(refused.body));
  }
  t.deepEqual(namesOf(await owner.call('GET', path)), []);
});

test('conditions that only publishing can check do not prevent saving', async (t) => {
  const { owner, path } = await newAgent();
  const drafts = [
    { ...api({ url: 'http://169.254.169.254/latest' }), name: 'forbidden' },
    { ...api({ auth: { type: 'bearer', secret_ref: 'not-yet' } }), name: 'secretless' },
    { ...api(), name: 'invalid', parameters: { type: 'nonsense' } },
  ];
  for (const draft of drafts) t.is((await owner.call('POST', path, draft)).status, 201);
});

test('a name is unique in an agent, also for ten at once, and free in another', async (t) => {
  const { owner, path } = await newAgent();
  const replies = await Promise.all(Array.from({ length: 10 }, () => owner.call('POST', path, api())));
  t.deepEqual(
    replies.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, ...Array<number>(9).fill(409)],
  );
  const refused = replies.find(({ status }) => status === 409);
  t.like(refused?.body, { error: 'conflict', details: { field: 'name' } });
  const other = idOf(await owner.call('POST', '/api/agents', { name: 'other' }));
  t.is((await owner.call('POST', `/api/agents/${other}/schemas`, api())).status, 201);
});

test('a patch merges and raises the revision, and a stale one changes nothing', async (t) => {
  const { owner, path } = await newAgent();
  const created = await owner.call(
    'POST',
    path,
    api({ headers: { 'X-A': '1', 'X-B': '2' }, response: { max_chars: 10 } }),
  );
  const at = `${path}/${idOf(created)}`;
  const patched = await owner.call('PATCH', at, {
    revision: 1,
    description: 'Tells the weather.',
    editor_schema: { api: { headers: { 'X-A': null, 'X-C': '3' }, response: null, timeout_ms: 5_000 } },
  });
  t.is(patched.status, 200);
  t.like(dataOf(patched), { revision: 2, description: 'Tells the weather.', type: 'api' });
  t.deepEqual(dataOf(patched)['editor_schema'], {
    api: {
      method: 'GET',
      url: 'https://api.example.com/weather',
      headers: { 'X-B': '2', 'X-C': '3' },
      auth: { type: 'none' },
      timeout_ms: 5_000,
    },
  });
  const stale = await owner.call('PATCH', at, { revision: 1, description: 'Too late.' });
  t.is(stale.status, 409);
  t.like(stale.body, { error: 'conflict', details: { field: 'revision' } });
  t.like(dataOf(await owner.call('GET', at)), { revision: 2, description: 'Tells the weather.' });
  t.is((await owner.call('PATCH', at, { description: 'Whatever there was.' })).status, 200);
  t.is((await owner.call('PATCH', at, { type: 'mcp' })).status, 400);
  t.is((await owner.call('PATCH', at, { editor_schema: { mcp: {} } })).status, 400);
  t.is((await owner.call('PATCH', at, { editor_schema: { api: { timeout_ms: 1 } } })).status, 400);
});

test('of concurrent patches with one revision exactly one is written', async (t) => {
  const { owner, path } = await newAgent();
  const at = `${path}/${idOf(await owner.call('POST', path, api()))}`;
  const replies = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      owner.call('PATCH', at, { revision: 1, description: `writer ${index}` }),
    ),
  );
  t.deepEqual(
    replies.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409, 409, 409, 409, 409],
  );
});

test('owner, admin and editor write schemas, owner and admin delete them, and members do not see them', async (t) => {
  const { owner, path } = await newAgent();
  const { scope } = owner.caller;
  const editor = bench.person(scope, 'editor');
  const member = bench.person(scope, 'member');
  const at = `${path}/${idOf(await editor.call('POST', path, api()))}`;
  t.is((await editor.call('PATCH', at, { description: 'x' })).status, 200);
  t.is((await editor.call('GET', at)).status, 200);
  t.is((await editor.call('DELETE', at)).status, 403);
  for (const [method, where] of [
    ['GET', path],
    ['GET', at],
    ['POST', path],
    ['PATCH', at],
    ['DELETE', at],
    ['POST', `${at}/test`],
    ['POST', `${at}/discover`],
  ] as const) {
    const refused = await member.call(method, where, method === 'GET' ? undefined : api());
    t.is(refused.body['error'], 'insufficient_permissions', `${method} ${where}`);
  }
  const removed = await owner.call('DELETE', at);
  t.is(removed.status, 200);
  t.deepEqual(Object.keys(removed.body), ['success', 'message']);
  t.is((await owner.call('GET', at)).body['error'], 'not_found');
});

test('unknown schemas, and those of another agent or tenant, get 404', async (t) => {
  const { owner, id, path } = await newAgent();
  const stranger = await newAgent();
  const foreign = idOf(await stranger.owner.call('POST', stranger.path, api()));
  const second = idOf(await owner.call('POST', '/api/agents', { name: 'second' }));
  const elsewhere = idOf(await owner.call('POST', `/api/agents/${second}/schemas`, api()));
  for (const schemaId of ['nonsense', randomUUID(), foreign, elsewhere]) {
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const reply = await owner.call(method, `${path}/${schemaId}`, method === 'GET' ? undefined : {});
      t.is(reply.status, 404);
      t.is(reply.body['error'], 'not_found', `${method} ${schemaId}`);
    }
  }
  for (const agentId of ['nonsense', randomUUID(), stranger.id]) {
    t.is((await owner.call('GET', `/api/agents/${agentId}/schemas`)).body['error'], 'agent_not_found');
    t.is(
      (await owner.call('POST', `/api/agents/${agentId}/schemas`, api())).body['error'],
      'agent_not_found',
    );
  }
  await owner.call('DELETE', `/api/agents/${id}`);
  t.is((await owner.call('POST', path, api())).body['error'], 'conflict', 'an archived agent is not changed');
});
