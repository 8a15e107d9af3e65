import { randomUUID } from 'node:crypto';
import test from 'ava';
import { type AgentsBench, dataOf, idOf, type Person, startAgents } from '../../support/servers/agents.js';
import { databaseOfFile } from '../../support/database/database.js';
import { answerJson, startMcpServer, startToolServer } from '../../support/servers/tool-servers.js';

const database = databaseOfFile(test);
let bench: AgentsBench;

test.serial.before(async () => {
  bench = await startAgents(database);
});

async function newOwner(): Promise<Person> {
  return bench.person(await bench.newTenant(), 'owner');
}

async function newAgent(owner: Person, name: string): Promise<string> {
  return idOf(await owner.call('POST', '/api/agents', { name }));
}

const addSchema = (owner: Person, agent: string, schema: object) =>
  owner.call('POST', `/api/agents/${agent}/schemas`, schema);
const publish = (owner: Person, agent: string) => owner.call('POST', `/api/agents/${agent}/publish`);
const validate = async (owner: Person, agent: string) =>
  dataOf(await owner.call('POST', `/api/agents/${agent}/validate`));
const subAgent = (agentId: string) => ({
  name: 'helper',
  type: 'agent',
  editor_schema: { agent: { agent_id: agentId } },
});

interface Case {
  readonly title: string;
  readonly schema: (t: Parameters<typeof startMcpServer>[0]) => object | Promise<object>;
  readonly field: string;
  readonly issue: RegExp;
}

const cases: readonly Case[] = [
  {
    title: 'a JSON Schema that is none',
    schema: () => ({
      name: 'odd',
      type: 'api',
      parameters: { type: 'object', properties: { city: { type: 'nonsense' } } },
      editor_schema: { api: { url: 'http://127.0.0.1:8/' } },
    }),
    field: 'parameters.properties.city.type',
    issue: /not a valid JSON Schema/,
  },
  {
    title: 'a JSON Schema that refers to what is not in it',
    schema: () => ({
      name: 'odd',
      type: 'api',
      parameters: { type: 'object', properties: { city: { $ref: 'https://example.com/city.json' } } },
      editor_schema: { api: { url: 'http://127.0.0.1:8/' } },
    }),
    field: 'parameters',
    issue: /can't resolve reference/,
  },
  {
    title: 'arguments that are no object',
    schema: () => ({
      name: 'odd',
      type: 'api',
      parameters: { type: 'string' },
      editor_schema: { api: { url: 'http://127.0.0.1:8/' } },
    }),
    field: 'parameters.type',
    issue: /must be object/,
  },
  {
    title: 'a secret that does not exist, in auth',
    schema: () => ({
      name: 'odd',
      type: 'api',
      editor_schema: {
        api: { url: 'http://127.0.0.1:8/', auth: { type: 'bearer', secret_ref: 'nowhere' } },
      },
    }),
    field: 'editor_schema.api.auth.secret_ref',
    issue: /secret nowhere does not exist/,
  },
  {
    title: 'a secret that does not exist, by its id',
    schema: () => ({
      name: 'odd',
      type: 'mcp',
      editor_schema: {
        mcp: { url: 'http://127.0.0.1:8/', auth: { type: 'bearer', vault_secret_id: randomUUID() } },
      },
    }),
    field: 'editor_schema.mcp.auth.vault_secret_id',
    issue: /does not exist/,
  },
  {
    title: 'a secret that does not exist, in a header',
    schema: () => ({
      name: 'odd',
      type: 'api',
      editor_schema: { api: { url: 'http://127.0.0.1:8/', headers: { 'X-Key': '${secret.nowhere}' } } },
    }),
    field: 'editor_schema.api.headers',
    issue: /secret nowhere does not exist/,
  },
  {
    title: 'an address that may not be called',
    schema: () => ({
      name: 'odd',
      type: 'api',
      editor_schema: { api: { url: 'http://169.254.169.254/latest/${args.x}' } },
    }),
    field: 'editor_schema.api.url',
    issue: /169\.254\.169\.254/,
  },
  {
    title: 'an MCP server at an address that may not be called',
    schema: () => ({ name: 'odd', type: 'mcp', editor_schema: { mcp: { url: 'http://10.0.0.1/mcp' } } }),
    field: 'editor_schema.mcp.url',
    issue: /10\.0\.0\.1/,
  },
  {
    title: 'an MCP server that is not there',
    schema: async () => ({
      name: 'odd',
      type: 'mcp',
      editor_schema: { mcp: { url: 'http://127.0.0.1:8/mcp' } },
    }),
    field: 'editor_schema.mcp.url',
    issue: /./,
  },
  {
    title: 'an MCP server that speaks something else',
    schema: async (t) => {
      const { url } = await startToolServer(t, (_, response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        response.end('<html>hello</html>');
      });
      return { name: 'odd', type: 'mcp', editor_schema: { mcp: { url } } };
    },
    field: 'editor_schema.mcp.url',
    issue: /did not list its tools/,
  },
  {
    title: 'an MCP server without an allowed tool',
    schema: async (t) => ({
      name: 'odd',
      type: 'mcp',
      editor_schema: { mcp: { url: (await startMcpServer(t)).url, allowed_tools: ['echo', 'gone'] } },
    }),
    field: 'editor_schema.mcp.allowed_tools',
    issue: /no tool gone/,
  },
  {
    title: 'a sub-agent that does not exist',
    schema: () => ({ ...subAgent(randomUUID()), name: 'odd' }),
    field: 'editor_schema.agent.agent_id',
    issue: /does not exist/,
  },
];

for (const { title, schema, field, issue } of cases) {
  test(`${title} prevents publishing, naming schema and field`, async (t) => {
    const owner = await newOwner();
    const agent = await newAgent(owner, 'checked');
    const fine = { name: 'fine', type: 'api', editor_schema: { api: { url: 'http://127.0.0.1:8/' } } };
    await addSchema(owner, agent, fine);
    const created = await addSchema(owner, agent, await schema(t));
    t.is(created.status, 201, JSON.stringify(created.body));
    const expected = { schema: 'odd', schema_id: idOf(created), field };

    const found = await validate(owner, agent);
    t.false(found['valid']);
    t.like(found['issues'], [expected]);
    const path = `/api/agents/${agent}/schemas/${idOf(created)}`;
    t.like(dataOf(await owner.call('GET', path))['validation'], { state: 'unchecked' });

    const refused = await publish(owner, agent);
    t.is(refused.status, 400);
    t.like(refused.body, { error: 'validation_error', status: 'error', details: expected });
    t.regex((refused.body['details'] as { issue: string }).issue, issue);
    t.true(String(refused.body['message']).includes('odd'));
    t.like(dataOf(await owner.call('GET', `/api/agents/${agent}`)), {
      status: 'draft',
      published_version: null,
    });
    t.like(dataOf(await owner.call('GET', path))['validation'], { state: 'invalid', issues: [{ field }] });
    const fineNow = (await owner.call('GET', `/api/agents/${agent}/schemas`)).body.data as object[];
    t.like(fineNow[0], { validation: { state: 'valid' } });
  });
}

test("an agent with a secret, an MCP server and a sub-agent is published with the server's tools", async (t) => {
  const owner = await newOwner();
  const server = await startMcpServer(t, 'letmein');
  await owner.call('POST', '/api/secrets', { name: 'mcp', value: 'letmein', kind: 'bearer' });
  const child = await newAgent(owner, 'child');
  const agent = await newAgent(owner, 'parent');
  await addSchema(owner, agent, {
    name: 'files',
    type: 'mcp',
    editor_schema: { mcp: { url: server.url, auth: { type: 'bearer', secret_ref: 'mcp' } } },
  });
  await addSchema(owner, agent, subAgent(child));
  t.deepEqual(await validate(owner, agent), { valid: true, issues: [], warnings: [] });
  const published = await publish(owner, agent);
  t.is(published.status, 200, JSON.stringify(published.body));
  t.like(dataOf(published), { status: 'published', published_version: 1 });
  const [files] = (await owner.call('GET', `/api/agents/${agent}/schemas`)).body.data as {
    tools: { name: string }[];
    validation: object;
  }[];
  t.deepEqual(
    files?.tools.map(({ name }) => name),
    ['echo', 'fail'],
  );
  t.like(files?.validation, { state: 'valid', issues: [] });
});

test('what servers write is kept in characters that can be stored', async (t) => {
  const owner = await newOwner();
  const tool = (name: string, description: string) => ({ name, description, annotations: {} });
  const emoji = '😀'.repeat(3_000);
  const lists = await startMcpServer(t, undefined, [
    tool('even', emoji),
    tool('odd', `x${emoji}`),
    tool('nul', 'a\0b'),
  ]);
  const fails = await startToolServer(t, ({ path, body }, response) => {
    const { id } = JSON.parse(body === '' ? '{}' : body) as { id?: number };
    const error = { code: -32_000, message: `${path === '/even' ? '' : 'x'}\0${emoji}` };
    answerJson(response, { jsonrpc: '2.0', id: id ?? null, error });
  });
  const withServer = async (name: string, url: string): Promise<string> => {
    const agent = await newAgent(owner, name);
    await addSchema(owner, agent, { name: 'srv', type: 'mcp', editor_schema: { mcp: { url } } });
    return agent;
  };
  const published = await publish(owner, await withServer('lists', lists.url));
  t.is(published.status, 200, JSON.stringify(published.body));
  for (const path of ['even', 'odd']) {
    const refused = await publish(owner, await withServer(path, `${fails.url}/${path}`));
    t.is(refused.status, 400);
    t.like(refused.body, { details: { schema: 'srv', field: 'editor_schema.mcp.url' } });
  }
});

test('a server that quotes the refused credential does not reveal it', async (t) => {
  const owner = await newOwner();
  const server = await startMcpServer(t, 'another');
  await owner.call('POST', '/api/secrets', { name: 'mcp', value: 'planted-secret-value', kind: 'bearer' });
  const agent = await newAgent(owner, 'curious');
  await addSchema(owner, agent, {
    name: 'files',
    type: 'mcp',
    editor_schema: { mcp: { url: server.url, auth: { type: 'bearer', secret_ref: 'mcp' } } },
  });
  const refused = await publish(owner, agent);
  t.is(refused.status, 400);
  t.true(server.heard.some(({ headers }) => headers['authorization'] === 'Bearer planted-secret-value'));
  t.false(JSON.stringify(refused.body).includes('planted-secret-value'));
});

test('agents may not call themselves, directly or by a detour, nor exceed five levels', async (t) => {
  const owner = await newOwner();
  const own = await newAgent(owner, 'own');
  await addSchema(owner, own, subAgent(own));
  t.regex(String((await publish(owner, own)).body['message']), /call itself/);

  const chain = [];
  for (let index = 0; index <= 6; index += 1) chain.push(await newAgent(owner, `link${index}`));
  for (let index = 6; index >= 1; index -= 1) {
    await addSchema(owner, chain[index - 1] ?? '', subAgent(chain[index] ?? ''));
    const reply = await publish(owner, chain[index - 1] ?? '');
    // link0 has six below it, link1 five.
    if (index === 1) t.regex(String(reply.body['message']), /more than 5 levels deep/);
    else t.is(reply.status, 200, JSON.stringify(reply.body));
  }
  await addSchema(owner, chain[6] ?? '', subAgent(chain[3] ?? ''));
  t.regex(String((await publish(owner, chain[6] ?? '')).body['message']), /call itself/);
});

test('of two published agents that add each other as sub-agents concurrently at most one succeeds', async (t) => {
  const owner = await newOwner();
  for (let round = 0; round < 5; round += 1) {
    const [one, two] = [await newAgent(owner, `one${round}`), await newAgent(owner, `two${round}`)];
    await publish(owner, one);
    await publish(owner, two);
    await addSchema(owner, one, subAgent(two));
    await addSchema(owner, two, subAgent(one));
    const replies = await Promise.all([publish(owner, one), publish(owner, two)]);
    t.deepEqual(
      replies.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 400],
    );
  }
});

test('a sub-agent of another tenant does not exist', async (t) => {
  const owner = await newOwner();
  const foreign = await newAgent(await newOwner(), 'foreign');
  const agent = await newAgent(owner, 'own');
  await addSchema(owner, agent, subAgent(foreign));
  t.regex(String((await publish(owner, agent)).body['message']), /does not exist/);
});

test('a change during the check of a publication is published too, or not at all', async (t) => {
  const owner = await newOwner();
  const agent = await newAgent(owner, 'moving');
  let changes = 0;
  const slow = await startToolServer(t, async (_, response) => {
    changes += 1;
    if (changes === 1) await owner.call('PATCH', `/api/agents/${agent}`, { bio: 'changed meanwhile' });
    response.writeHead(500).end();
  });
  const created = await addSchema(owner, agent, {
    name: 'slow',
    type: 'mcp',
    editor_schema: { mcp: { url: slow.url } },
  });
  t.is((await publish(owner, agent)).status, 400);

  const server = await startMcpServer(t);
  let seen = 0;
  const front = await startToolServer(t, async (request, response) => {
    seen += 1;
    if (seen === 1) {
      await owner.call('PATCH', `/api/agents/${agent}`, { bio: 'changed at the last moment' });
      await addSchema(owner, agent, { ...subAgent(await newAgent(owner, 'late')), name: 'late' });
    }
    const answer = await fetch(server.url, {
      method: request.method,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(typeof request.headers['mcp-protocol-version'] === 'string'
          ? { 'mcp-protocol-version': request.headers['mcp-protocol-version'] }
          : {}),
        ...(typeof request.headers['mcp-method'] === 'string'
          ? { 'mcp-method': request.headers['mcp-method'] }
          : {}),
      },
      ...(request.body === '' ? {} : { body: request.body }),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
    response.end(await answer.text());
  });
  await owner.call('PATCH', `/api/agents/${agent}/schemas/${idOf(created)}`, {
    editor_schema: { mcp: { url: front.url } },
  });
  const published = await publish(owner, agent);
  t.is(published.status, 200, JSON.stringify(published.body));
  const version = await owner.call('GET', `/api/agents/${agent}/versions/1`);
  const snapshot = dataOf(version)['snapshot'] as { bio: string; schemas: { name: string }[] };
  t.is(snapshot.bio, 'changed at the last moment');
  t.deepEqual(snapshot.schemas.map(({ name }) => name).toSorted(), ['late', 'slow']);
});

test('a secret used by tools or running versions is not deleted unless forced', async (t) => {
  const owner = await newOwner();
  const agent = await newAgent(owner, 'user');
  const secret = await owner.call('POST', '/api/secrets', {
    name: 'used',
    value: 'v-a-l-u-e',
    kind: 'generic',
  });
  const remove = () => owner.call('DELETE', `/api/secrets/${idOf(secret)}`);
  const schema = await addSchema(owner, agent, {
    name: 'tool',
    type: 'api',
    editor_schema: { api: { url: 'http://127.0.0.1:8/?key=${secret.used}' } },
  });
  t.is((await remove()).status, 409);
  t.is((await publish(owner, agent)).status, 200);
  await owner.call('DELETE', `/api/agents/${agent}/schemas/${idOf(schema)}`);
  const refused = await remove();
  t.is(refused.status, 409, 'the running version still needs it');
  t.true(JSON.stringify(refused.body).includes('user / version 1'));
  t.is((await publish(owner, agent)).status, 200);
  t.is((await remove()).status, 200);
});
