// Secrets that a tool returns.
import test from 'ava';
import { type AgentsBench, idOf, type Person, startAgents } from '../../support/servers/agents.js';
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

test('an expression that selects from an answer sees no secret in it', async (t) => {
  const { owner, path } = await newAgent();
  const server = await startToolServer(t, ({ headers }, response) => {
    answerJson(response, { headers, number: 73_310_042 });
  });
  await owner.call('POST', '/api/secrets', { name: 'key', value: 'planted-value', kind: 'generic' });
  await owner.call('POST', '/api/secrets', { name: 'pin', value: '73310042', kind: 'generic' });
  for (const select of [
    'reverse(headers.authorization)',
    'headers.authorization | reverse(@) | to_string(@)',
    "join('-', [headers.authorization, 'x'])",
    '[number, `1`] | sum(@)',
    'keys(headers)',
  ]) {
    const at = await newTool(owner, path, {
      url: `${server.url}/?k=\${secret.pin}`,
      auth: { type: 'bearer', secret_ref: 'key' },
      response: { select },
    });
    const reply = await owner.call('POST', at, {});
    t.notRegex(JSON.stringify(reply.body), /planted|eulav-detnalp|73310042|73310043/, select);
    await owner.call('DELETE', at.replace('/test', ''));
  }
});

test('an answer nested too deeply for the secret search is a fault of the server', async (t) => {
  const { owner, path } = await newAgent();
  const depth = 400_000;
  const server = await startToolServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`${'['.repeat(depth)}${']'.repeat(depth)}`);
  });
  await owner.call('POST', '/api/secrets', { name: 'key', value: 'planted-value', kind: 'generic' });
  const at = await newTool(owner, path, {
    url: `${server.url}/`,
    auth: { type: 'bearer', secret_ref: 'key' },
    response: { select: '[0]' },
  });
  t.like(await owner.call('POST', at, {}), { status: 502, body: { error: 'provider_error' } });
});

test('the tool list of an MCP server contains no secret that was sent to it', async (t) => {
  const { owner, path } = await newAgent();
  const server = await startMcpServer(t, 'planted-value', [
    { name: 'one', description: 'Called with Bearer planted-value', annotations: {} },
  ]);
  await owner.call('POST', '/api/secrets', { name: 'key', value: 'planted-value', kind: 'generic' });
  const created = await owner.call('POST', path, {
    name: 'server',
    type: 'mcp',
    editor_schema: { mcp: { url: server.url, auth: { type: 'bearer', secret_ref: 'key' } } },
  });
  const at = `${path}/${idOf(created)}`;
  const discovered = await owner.call('POST', `${at}/discover`);
  t.is(discovered.status, 200, JSON.stringify(discovered.body));
  t.regex(JSON.stringify(discovered.body), /Called with Bearer \[REDACTED\]/);
  await owner.call('POST', path.replace('/schemas', '/validate'));
  const { body } = await owner.call('GET', at);
  t.regex(JSON.stringify(body), /"one"/);
  t.notRegex(JSON.stringify([discovered.body, body]), /planted/);
});
